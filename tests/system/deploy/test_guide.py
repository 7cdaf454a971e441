"""Commands, paths, names and arguments in deploy/README.md are valid."""

import re
import shlex
import shutil
import subprocess

import pytest
import yaml

from gateway.cli.arguments import parse_arguments
from tests.support.kustomize import render
from tests.system.deploy.guide import GUIDE, KUSTOMIZATION, SCRIPTS, WITH_LISTENERS
from tests.system.deploy.installations import DEPLOY, OVERLAYS, Installation
from tests.system.deploy.mounts import mount_rendered
from tests.system.deploy.policy import broken_rules
from tests.system.deploy.policy.configuration import secret_files
from tests.system.deploy.policy.manifests import Manifests
from tests.system.deploy.test_configurations import MOUNTED, check

COMMANDS = [
    shlex.split(line)
    for line in re.findall(r"\bkvs(?:-gateway)? ((?:apps|tables|credentials) [^`\n)|]*)", GUIDE)
    if "…" not in line
]
KUBECTL_LINES = re.findall(r"\bkubectl (.*?)(?: -- | \|| &|$)", "\n".join(SCRIPTS), re.MULTILINE)
VERBS = {
    *("create", "namespace", "secret", "generic", "label", "apply", "diff"),
    *("rollout", "status", "undo", "exec", "port-forward", "patch", "get", "configmap", "logs"),
    *("wait", "describe"),
}


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.splitlines()[0][:40] for script in SCRIPTS])
def test_a_script_has_valid_syntax(script):
    subprocess.run(["/bin/sh", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_of_the_gateway_parses(command):
    assert parse_arguments(command, {}).command == command[0]


def test_some_commands_were_found():
    assert len(COMMANDS) >= 4


def test_every_link_has_a_target():
    for target in re.findall(r"\]\(([^)#]+)", GUIDE):
        assert (DEPLOY / target).exists(), target


def test_every_mentioned_folder_and_file_exists():
    for path in re.findall(r"\bdeploy/(?:overlays|components|dynamodb|examples)[\w./-]*\w", GUIDE):
        assert (DEPLOY.parent / path).exists(), path


def test_every_overlay_and_component_is_explained():
    for folder in [
        each for kind in ("overlays", "components", "examples") for each in DEPLOY.glob(f"{kind}/*")
    ]:
        assert f"({folder.relative_to(DEPLOY)})" in GUIDE


def test_the_secret_has_every_file_that_an_overlay_reads():
    made = set(re.findall(r'> "\$secrets/([\w-]+)"', GUIDE))
    read = {
        file.removeprefix(f"{MOUNTED}/")
        for overlay in OVERLAYS
        for file in secret_files(yaml.safe_load((DEPLOY / "overlays" / overlay / "config.yaml").read_text()))
    }
    assert made == read


def test_objects_in_the_guide_are_installed_ones(tmp_path):
    manifests = Manifests(Installation("redis").render(tmp_path))
    for kind, name in re.findall(r"\b(deploy|deployment|service|secret)[ /](kvs-gateway)\b", GUIDE):
        if kind == "secret":
            assert manifests.volumes["secrets"]["secret"]["secretName"] == name
        else:
            assert manifests.named("Service" if kind == "service" else "Deployment", name)


def test_the_kustomization_renders_and_complies_with_the_policy(tmp_path):
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


def test_the_kustomization_with_more_listeners_complies_with_the_policy(tmp_path):
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    own = tmp_path / "my-gateway"
    own.mkdir()
    changed = yaml.safe_load(KUSTOMIZATION) | yaml.safe_load(WITH_LISTENERS)
    (own / "kustomization.yaml").write_text(yaml.safe_dump(changed))
    config = Installation("redis", ("control", "credentials")).configuration()
    (own / "config.yaml").write_text(yaml.safe_dump(config))
    (own / "jwks.json").write_text('{"keys": []}')
    objects = render(own)
    assert broken_rules(objects) == {}
    done = check(mount_rendered(Manifests(objects), tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


if shutil.which("kubectl"):

    @pytest.mark.parametrize("line", KUBECTL_LINES)
    def test_a_kubectl_command_and_its_options_exist(line):
        words = line.split()
        verbs = [word for word in words if word in VERBS]
        known = _output(*verbs, "--help") + _output("options")
        assert verbs
        assert "Usage:" in known
        for option in (word.partition("=")[0] for word in words if word.startswith("-")):
            assert re.search(rf"^\s+(-\w, )?{option}\b|^\s+{option}, ", known, re.MULTILINE), option


def _output(*words: str) -> str:
    done = subprocess.run(["kubectl", *words], capture_output=True, text=True, check=False)
    return done.stdout
