"""Runs the scripts of deploy/README.md for workloads: a pod without secrets puts its first entry."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jwt
import pytest
import trustme
import yaml

from tests.identity.issuer import ALL, PRIVATE
from tests.support.config import merged
from tests.support.kustomize import render
from tests.support.process import GatewayProcess
from tests.system.deploy.guide import marked
from tests.system.deploy.installations import DEPLOY, Installation
from tests.system.deploy.mounts import here, mount_rendered, place_of
from tests.system.deploy.policy.manifests import Manifests
from tests.system.deploy.test_configurations import ON_LOOPBACK
from tests.system.deploy.tunnel import tunnel

EXAMPLE = DEPLOY / "examples" / "workload"
SUBJECT = "system:serviceaccount:blog:blog"
LOOPBACK = merged(ON_LOOPBACK, {"listen": {name: {"host": "127.0.0.1"} for name in ("ops", "control")}})
SERVICE = "kvs-gateway-credentials.kvs-gateway.svc"
CREDENTIALS = {"host": "127.0.0.1", "port": 0, "hosts": [SERVICE]}
LOOPBACK = merged(LOOPBACK, {"listen": {"credentials": CREDENTIALS}, "public_hosts": []})
FAR_AWAY = 4_000_000_000

KUBECTL = """#!/bin/sh
case "$*" in
    "get --raw /openid/v1/jwks") cat "$CLUSTER/keys" ;;
    "get --raw /.well-known/openid-configuration") echo '{"issuer": "…"}' ;;
    "create namespace blog" | "label namespace blog kvs-gateway-credentials=client "*) ;;
    *" get secret kvs-gateway-credentials-tls --output "*) base64 < "$CLUSTER/run-tls-credentials/ca.crt" ;;
    *" create configmap kvs-gateway-authority --from-file=ca.crt") cp ca.crt "$CLUSTER/authority" ;;
    "--namespace blog apply -f -") cat > "$CLUSTER/secret" ;;
    "apply -k deploy/examples/workload" | "--namespace blog rollout status deployment/blog "*) ;;
    "--namespace blog logs deployment/blog --follow") ;;
    *" exec deploy/kvs-gateway -- "*) while test "$1" != --; do shift; done; shift; exec "$@" ;;
    *) echo "not expected: $*" >&2; exit 1 ;;
esac
"""


class Cluster:
    """Gateway with its mounted files in `folder`, and a `kubectl` that runs commands locally."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        components = ("network-policy", "control", "credentials")
        self.manifests = Manifests(Installation("memory", components).render(folder / "rendered"))
        config = mount_rendered(self.manifests, folder, trustme.CA())
        (folder / "keys").write_bytes(ALL)
        (folder / "my-gateway").mkdir()
        self.run(marked("keys"))
        shutil.copy(folder / "my-gateway" / "jwks.json", config.with_name("jwks.json"))
        self.config = merged(yaml.safe_load(config.read_text()), LOOPBACK)

    def run(self, script: str, control: str = "localhost:8081") -> str:
        """Runs a script of the guide and returns its output; `control` is the URL of the control listener."""
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "kubectl").write_text(KUBECTL)
        (programs / "kvs-gateway").write_text(f'#!/bin/sh\nexec {sys.executable} -m gateway "$@"\n')
        for program in programs.iterdir():
            program.chmod(0o755)
        script = here(script, self.manifests, self.folder).replace("localhost:8081", control)
        env = {"PATH": f"{programs}:{os.environ['PATH']}", "CLUSTER": str(self.folder)}
        env["PYTHONPATH"] = str(DEPLOY.parent)
        done = subprocess.run(
            ["/bin/sh", "-euc", script],
            env=env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def example() -> dict[str, dict]:
    return {each["kind"]: each for each in render(EXAMPLE)}


def token_for(pod: dict, issuer: str) -> str:
    """Returns the token that the kubelet would project into the pod."""
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "identity"]
    audience = volume["projected"]["sources"][0]["serviceAccountToken"]["audience"]
    claims = {"iss": issuer, "aud": [audience], "sub": SUBJECT, "exp": FAR_AWAY}
    return jwt.encode(claims, PRIVATE["RS256"], "RS256", headers={"kid": "RS256"})


def variables_of(container: dict, secret: dict) -> dict[str, str]:
    """Returns the environment of the container."""
    (source,) = container["envFrom"]
    assert source["secretRef"]["name"] == secret["metadata"]["name"]
    own = {each["name"]: each.get("value", "blog-5d8c7-x2x9z") for each in container["env"]}
    return own | secret["stringData"]


def test_a_pod_without_secrets_puts_its_first_entry(tmp_path, example):
    cluster = Cluster(tmp_path)
    pod = example["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    for mount in container["volumeMounts"]:
        place_of(mount["mountPath"], tmp_path / "pod").mkdir(parents=True)
    with GatewayProcess(cluster.config, tmp_path) as gateway:
        port = {name: int(url.rpartition(":")[2]) for name, url in gateway.urls.items()}
        register = "kvs apps register --org acme --app blog --type api\n"
        cluster.run(
            marked("kvs over TLS") + register + marked("workload"), control=f"localhost:{port['control']}"
        )
        issuer = cluster.config["workloads"][0]["issuer"]
        secret = yaml.safe_load((tmp_path / "secret").read_text())
        places = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        files = {
            ("identity", "token"): token_for(pod, issuer),
            ("authority", "ca.crt"): (tmp_path / "authority").read_text(),
            ("app", "first_put.py"): example["ConfigMap"]["data"]["first_put.py"],
        }
        for (volume, name), content in files.items():
            (place_of(places[volume], tmp_path / "pod") / name).write_text(content)
        variables = {
            name: _in_pod(value, places, tmp_path) for name, value in variables_of(container, secret).items()
        }
        variables["SERVICE_KVS_URL"] = gateway.urls["data"]
        names = {f"{SERVICE}:443": port["credentials"]}
        with tunnel(names) as proxy:
            variables |= {"HTTPS_PROXY": proxy, "NO_PROXY": "127.0.0.1"}
            assert _first_line(container["command"], variables, places, tmp_path) == "{'ok': True}\n"
        lines = [json.loads(line) for line in gateway.log.read_text().splitlines()]
    (line,) = [each for each in lines if each.get("action") == "credentials.web_identity"]
    assert (line["environment"], line["session_name"]) == ("acme/blog/production", "blog-5d8c7-x2x9z")


def _in_pod(text: str, places: dict[str, str], folder: Path) -> str:
    for path in places.values():
        text = text.replace(path, str(place_of(path, folder / "pod")))
    return text


def _first_line(command: list[str], variables: dict[str, str], places: dict[str, str], folder: Path) -> str:
    arguments = [_in_pod(each, places, folder) for each in command[1:]]
    with subprocess.Popen(
        [sys.executable, *arguments],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        line = process.stdout.readline()
        process.kill()
        return line or process.stderr.read()


def test_the_example_has_no_secret_and_few_rights(example):
    assert set(example) == {"ConfigMap", "Deployment", "ServiceAccount"}
    pod = example["Deployment"]["spec"]["template"]["spec"]
    names = {each["name"] for each in pod["containers"][0]["env"]}
    assert not names & {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "KVS_CONTROL_TOKEN",
    }
    assert {"AWS_ENDPOINT_URL_STS", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"} <= names
    assert pod["automountServiceAccountToken"] is False
    assert not [volume for volume in pod["volumes"] if "secret" in volume]


def test_the_example_is_a_workload_in_the_configuration_of_the_component(example):
    pod = example["Deployment"]["spec"]["template"]["spec"]
    (workloads,) = Installation("redis", ("credentials",)).configuration()["workloads"]
    (named,) = workloads["subjects"]
    namespace, account = example["ServiceAccount"]["metadata"]["namespace"], pod["serviceAccountName"]
    assert named["subject"] == f"system:serviceaccount:{namespace}:{account}"
    variables = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert named["role"] == variables["AWS_ROLE_ARN"]
    labels = example["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert labels["kvs-gateway-credentials"] == "client"
