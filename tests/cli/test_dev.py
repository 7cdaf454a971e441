"""`kvs-gateway dev`: a whole gateway without any file, and what to export to use it."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from gateway.cli.development import EXAMPLE
from tests.support.ports import free_port
from tests.support.repository import ROOT
from tests.support.signing import Signer

TABLE = "SERVICE_KVS_TOKEN_SESSIONS"
OF_THE_APP = {"SERVICE_KVS_URL", "SERVICE_KVS_REGION", TABLE}
OF_THE_CALLER = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
OF_COMMANDS = {"KVS_CONTROL_URL", "KVS_CONTROL_TOKEN"}


def started(folder: Path, *options: str):
    """The process. Another one may be quicker to take the port: then it is started anew on another."""
    while True:
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "gateway", "dev", "--port", str(free_port()), *options],
                cwd=folder,
                env={**os.environ, "KVS_CONTROL_TOKEN": "the-token-of-production", "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        first = process.stdout.readline()
        if first:
            return process, first
        process.stdout.close()
        process.wait()
        reason = (folder / "log").read_text()
        assert "ddress already in use" in reason, reason


@contextmanager
def running(folder: Path, *options: str):
    """What the command prints, once the gateway listens."""
    process, printed = started(folder, *options)
    try:
        while "/v1/put" not in printed:
            line = process.stdout.readline()
            assert line, (folder / "log").read_text()
            printed += line
        yield printed
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def exported(printed: str) -> dict[str, str]:
    """What a shell that runs the lines has beyond what it had."""
    script = f"{printed}\nenv -0"
    before = {"PATH": os.environ["PATH"], "AWS_SESSION_TOKEN": "of somebody else"}
    done = subprocess.run(["/bin/sh", "-ec", script], env=before, capture_output=True, text=True, check=True)
    variables = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    return {name: value for name, value in variables.items() if name not in ("PATH", "PWD", "_")}


def call(operation: str, variables: dict[str, str], **body: object) -> tuple[int, dict]:
    url = f"{variables['SERVICE_KVS_URL']}/v1/{operation}"
    content = json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {variables[TABLE]}"}
    if "AWS_ACCESS_KEY_ID" in variables:
        signer = Signer(*(variables[name] for name in sorted(OF_THE_CALLER)))
        fields = signer.sign(url, content, fields, at_seconds=time.time())
    try:
        with urlopen(Request(url, content, fields)) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize("options", [(), ("--unsigned",)])
def test_who_exports_what_is_printed_can_put_and_get(tmp_path, options):
    of_the_caller = {"AWS_SESSION_TOKEN"} if options else OF_THE_CALLER
    with running(tmp_path, *options) as printed:
        variables = exported(printed)
        assert variables.keys() == OF_THE_APP | of_the_caller | OF_COMMANDS
        assert call("put", variables, key="k", value=1) == (200, {"ok": True})
        assert call("get", variables, key="k")[1]["value"] == 1


def test_who_exports_what_is_printed_can_manage(tmp_path):
    with running(tmp_path) as printed:
        variables = exported(printed)
        created = subprocess.run(
            [
                sys.executable,
                "-m",
                "gateway",
                "apps",
                "register",
                "--org",
                "o",
                "--app",
                "a",
                "--type",
                "api",
            ],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
    assert json.loads(created.stdout)["app_id"] == "a"


def test_without_unsigned_a_signature_is_required(tmp_path):
    with running(tmp_path) as printed:
        variables = {name: value for name, value in exported(printed).items() if name not in OF_THE_CALLER}
        assert call("get", variables, key="k")[0] == 403


def test_secrets_of_the_environment_are_neither_used_nor_printed(tmp_path):
    with running(tmp_path) as printed:
        assert "production" not in printed + (tmp_path / "log").read_text()


@pytest.mark.parametrize("port", ["0", "65536", "x"])
def test_a_port_that_is_none_is_4(port):
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "dev", "--port", port], capture_output=True, check=False
    )
    assert (done.returncode, json.loads(done.stderr)["error"]) == (4, "usage")


def test_the_configuration_that_it_runs_on_is_the_example_and_can_be_printed():
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "dev", "--print-config"], capture_output=True, text=True, check=True
    )
    assert done.stdout == EXAMPLE.read_text() == (ROOT / "config.example.yaml").read_text()


def test_the_address_of_the_console_is_printed(tmp_path):
    with running(tmp_path) as printed:
        (address,) = [line.split()[-1] for line in printed.splitlines() if line.startswith("# The console:")]
        with urlopen(address) as answer:
            assert (answer.status, answer.headers.get_content_type()) == (200, "text/html")
