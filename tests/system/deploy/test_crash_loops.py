"""A pod that cannot start says why in the last line of its log, which `kubectl describe pod` shows."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from tests.support.config import merged
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.system.deploy.installations import Installation
from tests.system.deploy.mounts import mount_rendered, place_of
from tests.system.deploy.policy.manifests import Manifests

TERMINATION_MESSAGE_BYTES = 2048
CONTROL = "/run/tls/control"
SECRETS = "/run/secrets/kvs-gateway"

Mistake = Callable[[Path], None]
"""Creates a fault in a folder with a pod's mounted files."""


def changed(**changes: Any) -> Mistake:
    """Changes the configuration in the ConfigMap."""

    def make(folder: Path) -> None:
        file = configuration_in(folder)
        file.write_text(yaml.safe_dump(merged(yaml.safe_load(file.read_text()), changes)))

    return make


def appended(text: str) -> Mistake:
    return lambda folder: open_end(configuration_in(folder), text)


def open_end(file: Path, text: str) -> None:
    file.write_text(file.read_text() + text)


def without(mounted: str) -> Mistake:
    """Removes a file, as a missing key in the ConfigMap or Secret would."""
    return lambda folder: mounted_in(folder, mounted).unlink()


def holding(mounted: str, text: str) -> Mistake:
    return lambda folder: void(mounted_in(folder, mounted).write_text(text))


def void(_: object) -> None:
    pass


def other_key(folder: Path) -> None:
    key = trustme.CA().issue_cert("kvs-gateway-control.kvs-gateway.svc").private_key_pem
    key.write_to_path(mounted_in(folder, f"{CONTROL}/tls.key"))


MISTAKES = {
    "the Secret lacks a key": (
        without(f"{SECRETS}/session-key-1"),
        "signature.credentials.session.master_keys[0]",
    ),
    "a key of the Secret is empty": (holding(f"{SECRETS}/control-token", "\n"), "control.tokens[0]"),
    "a token is too short": (holding(f"{SECRETS}/control-token", "abc\n"), "control.tokens[0]"),
    "the url of Redis has another scheme": (
        holding(f"{SECRETS}/redis-url", "http://redis:6379\n"),
        "store.url",
    ),
    "the ConfigMap has another file": (without("/etc/kvs-gateway/config.yaml"), "(file)"),
    "the file is no YAML": (appended("edge: [\n"), "(file)"),
    "a key is misspelt": (changed(rate_limits={"requests_per_minute": 60}), "rate_limits"),
    "a value has the wrong type": (changed(edge={"max_connections": "many"}), "edge.max_connections"),
    "the region is missing": (changed(region=None), "region"),
    "a certificate is elsewhere": (
        changed(listen={"control": {"tls": {"certificate": "/run/tls/other/tls.crt"}}}),
        "listen.control.tls.certificate",
    ),
    "a certificate has another key": (other_key, "listen.control.tls"),
    "a listener that others reach has no certificate": (
        changed(listen={"control": {"tls": None}}),
        "listen.control.host",
    ),
    "a value is out of bounds": (changed(edge={"max_in_flight": 0}), "edge.max_in_flight"),
    "a variable is not set": (changed(public_url="${PUBLIC_URL}"), "public_url"),
}


def configuration_in(folder: Path) -> Path:
    return mounted_in(folder, "/etc/kvs-gateway/config.yaml")


def mounted_in(folder: Path, path: str) -> Path:
    return place_of(str(Path(path).parent), folder) / Path(path).name


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    """Mounted files of a pod in a valid installation."""
    folder = tmp_path_factory.mktemp("mounted")
    mount_rendered(Manifests(Installation("redis", ("control",)).render(folder / "rendered")), folder)
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_last_line_of_the_log_says_what_is_wrong(mistake, mounted, tmp_path):
    folder = tmp_path / "pod"
    shutil.copytree(mounted, folder)
    file = configuration_in(folder)
    file.write_text(file.read_text().replace(str(mounted), str(folder)))
    make, path = MISTAKES[mistake]
    make(folder)
    done = served(file)
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    assert len(line) < TERMINATION_MESSAGE_BYTES
    said = json.loads(line)
    assert (said["level"], said["message"], said["error"]) == (
        "critical",
        "cannot start",
        "invalid_configuration",
    )
    assert [problem["path"] for problem in said["problems"]] == [path]


def served(config: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", "serve", "--config", str(config)]
    return subprocess.run(
        command, env={}, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
