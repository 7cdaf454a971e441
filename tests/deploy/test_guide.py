"""What deploy/README.md tells people to type can be typed: paths, names, arguments, the first put."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
import yaml

from gateway.cli.arguments import parse_arguments
from tests.deploy.installations import DEPLOY, OVERLAYS, Installation
from tests.deploy.policy import broken_rules
from tests.deploy.policy.configuration import secret_files
from tests.deploy.policy.manifests import Manifests
from tests.deploy.test_configurations import MOUNTED, ON_LOOPBACK, mount
from tests.support.config import merged
from tests.support.kustomize import render
from tests.support.process import GatewayProcess

GUIDE = (DEPLOY / "README.md").read_text()
SCRIPTS = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
(KUSTOMIZATION,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
FIRST_PUT = "".join(
    re.findall(
        r"```sh\n(.*?)```", re.search(r"<!-- first put -->(.*?)<!-- end", GUIDE, re.DOTALL)[1], re.DOTALL
    )
)
COMMANDS = [
    shlex.split(line)
    for line in re.findall(r"\bkvs(?:-gateway)? ((?:apps|tables|credentials) [^`\n)]*)", GUIDE)
    if "…" not in line
]
KUBECTL = """#!/bin/sh
case "$*" in
    *" exec deploy/kvs-gateway -- "*) while test "$1" != --; do shift; done; shift; exec "$@" ;;
    *" port-forward service/kvs-gateway "*) exit ;;
esac
echo "not expected: $*" >&2
exit 1
"""


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.splitlines()[0][:40] for script in SCRIPTS])
def test_a_script_is_one(script):
    subprocess.run(["/bin/sh", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_of_the_gateway_parses(command):
    assert parse_arguments(command, {}).command == command[0]


def test_some_commands_were_found():
    assert len(COMMANDS) >= 4


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", GUIDE):
        assert (DEPLOY / target).exists(), target


def test_every_folder_and_file_that_is_named_exists():
    for path in re.findall(r"\bdeploy/(?:overlays|components|dynamodb)[\w./-]*\w", GUIDE):
        assert (DEPLOY.parent / path).exists(), path


def test_every_overlay_and_component_is_explained():
    for folder in [*DEPLOY.glob("overlays/*"), *DEPLOY.glob("components/*")]:
        assert f"({folder.relative_to(DEPLOY)})" in GUIDE


def test_the_secret_has_every_file_that_an_overlay_reads():
    made = set(re.findall(r'> "\$secrets/([\w-]+)"', GUIDE))
    read = {
        file.removeprefix(f"{MOUNTED}/")
        for overlay in OVERLAYS
        for file in secret_files(yaml.safe_load((DEPLOY / "overlays" / overlay / "config.yaml").read_text()))
    }
    assert made == read


def test_what_is_managed_by_name_is_what_is_installed(tmp_path):
    manifests = Manifests(Installation("redis").render(tmp_path))
    for kind, name in re.findall(r"\b(deploy|deployment|service|secret)[ /](kvs-gateway)\b", GUIDE):
        if kind == "secret":
            assert manifests.volumes["secrets"]["secret"]["secretName"] == name
        else:
            assert manifests.named("Service" if kind == "service" else "Deployment", name)


def test_the_kustomization_renders_and_keeps_to_the_policy(tmp_path):
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    own = tmp_path / "my-gateway"
    own.mkdir()
    (own / "kustomization.yaml").write_text(KUSTOMIZATION)
    config = (DEPLOY / "overlays/redis/config.yaml").read_text()
    (own / "config.yaml").write_text(config.replace("eu-central-1", "eu-west-1"))
    objects = render(own)
    assert broken_rules(objects) == {}
    manifests = Manifests(objects)
    assert manifests.config["region"] == "eu-west-1"
    assert manifests.container["image"] == f"registry.internal/kvs-gateway@sha256:{64 * '0'}"
    assert {each["metadata"]["namespace"] for each in objects} == {"kvs-gateway"}


@contextmanager
def _shell(folder):
    """Runs a script beside a gateway on the memory overlay; `kubectl` runs here what it would in a pod."""
    config = merged(yaml.safe_load(mount("memory", folder).read_text()), ON_LOOPBACK)
    programs = folder / "bin"
    programs.mkdir()
    (programs / "kubectl").write_text(KUBECTL)
    (programs / "kvs-gateway").write_text(f'#!/bin/sh\nexec {sys.executable} -m gateway "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    with GatewayProcess(config, folder) as gateway:
        port = gateway.urls["data"].rpartition(":")[2]

        def run(script: str) -> str:
            script = script.replace(MOUNTED, str(folder)).replace("127.0.0.1:8080", f"127.0.0.1:{port}")
            env = {"PATH": f"{programs}:{os.environ['PATH']}", "KVS_CONTROL_URL": gateway.urls["control"]}
            done = subprocess.run(
                ["/bin/sh", "-euc", script], env=env, capture_output=True, text=True, check=False, timeout=60
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


if shutil.which("curl"):

    def test_the_first_put_works_as_pasted(tmp_path):
        with _shell(tmp_path) as shell:
            printed = shell(FIRST_PUT)
            assert json.loads(printed[printed.index("}\n") + 1 :]) == {"ok": True}


def test_a_secret_is_set_without_showing_it_in_a_command_line(tmp_path):
    (function,) = re.findall(r"^put_secret\(\) \{.*?^\}", GUIDE, re.DOTALL | re.MULTILINE)
    shown = tmp_path / "shown"
    stub = tmp_path / "kubectl"
    stub.write_text(f'#!/bin/sh\necho "$@" > {shown}\ncat\n')
    stub.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = f"{function}\necho not-to-be-shown | put_secret control-token"
    done = subprocess.run(["/bin/sh", "-euc", script], env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"stringData": {"control-token": "not-to-be-shown"}}
    assert "not-to-be-shown" not in shown.read_text()
