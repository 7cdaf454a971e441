"""The gateway accepts the configuration of each overlay, starts with it and serves requests."""

import asyncio
import json
import secrets
import subprocess
import sys
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest
import yaml

from tests.support.config import merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.redis.server import RedisServer
from tests.support.signing import Signer
from tests.system.deploy.installations import DEPLOY, INSTALLATIONS, LISTENERS, OVERLAYS, Installation
from tests.system.deploy.mounts import mount_rendered
from tests.system.deploy.policy.configuration import secret_files
from tests.system.deploy.policy.manifests import Manifests

MOUNTED = "/run/secrets/kvs-gateway"
ON_LOOPBACK = {
    "listen": {"data": {"host": "127.0.0.1", "port": 0}, "ops": {"port": 0}, "control": {"port": 0}}
}
APP = "/v1/orgs/acme/apps/blog"
ROLE = "arn:aws:iam::123456789012:role/managed-app-blog"
PUBLIC = {"Host": "kvs.example.com"}


def mount(overlay: str, folder: Path, redis_url: str = "redis://:a%20password@redis:6379/0") -> Path:
    """Writes the overlay's configuration and its secrets into `folder` and returns the path."""
    text = (DEPLOY / "overlays" / overlay / "config.yaml").read_text()
    for file in secret_files(yaml.safe_load(text)):
        content = redis_url if file.endswith("/redis-url") else secrets.token_hex(32)
        (folder / Path(file).name).write_text(content + "\n")
    config = folder / "config.yaml"
    config.write_text(text.replace(MOUNTED, str(folder)))
    return config


def check(config: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", "check", "--config", str(config)]
    return subprocess.run(command, env={}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_configuration_is_accepted(overlay, tmp_path):
    done = check(mount(overlay, tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
def test_the_rendered_configuration_is_accepted_with_the_files_that_pods_mount(installation, tmp_path):
    done = check(mount_rendered(Manifests(installation.render(tmp_path / "rendered")), tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("listener", LISTENERS)
def test_an_exposed_listener_without_certificate_is_rejected(listener, tmp_path):
    manifests = Manifests(Installation("redis", (listener,)).render(tmp_path / "rendered"))
    config = mount_rendered(manifests, tmp_path)
    text = yaml.safe_load(config.read_text())
    text["listen"][listener]["tls"] = None
    config.write_text(yaml.safe_dump(text))
    (problem,) = json.loads(check(config).stderr)["problems"]
    assert problem["path"].startswith(f"listen.{listener}.")
    assert "in clear text" in problem["problem"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_missing_secret_is_reported_at_startup(overlay, tmp_path):
    config = mount(overlay, tmp_path)
    (tmp_path / "session-key-1").unlink()
    done = check(config)
    assert done.returncode == 4
    assert [each["path"] for each in json.loads(done.stderr)["problems"]] == [
        "signature.credentials.session.master_keys[0]"
    ]


@asynccontextmanager
async def _running(overlay: str, folder: Path):
    """Runs a gateway with the overlay's configuration on loopback, with a Redis if the store needs one."""
    with RedisServer() if overlay == "redis" else nullcontext() as redis:
        config = mount(overlay, folder, redis.url if redis else "")
        listening = merged(yaml.safe_load(config.read_text()), ON_LOOPBACK)
        listening["listen"]["ops"]["host"] = "127.0.0.1"
        with GatewayProcess(listening, folder) as process:
            async with client_of(process) as gateway:
                yield gateway


@pytest.mark.parametrize("overlay", ["memory", "redis"])
async def test_a_first_put_and_get_through_the_control_port(overlay, tmp_path):
    async with _running(overlay, tmp_path) as gateway:
        async with asyncio.timeout(10):
            while (await gateway.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        control = {"token": (tmp_path / "control-token").read_text().strip()}
        assert (await gateway.manage("PUT", APP, {"type": "api"}, **control)).status == 201
        table = await gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "posts"}, **control)
        assert table.json["runtime"]["SERVICE_KVS_URL"] == "https://kvs.example.com"
        issued = (await gateway.manage("POST", "/v1/credentials", {"role": ROLE}, **control)).json
        signer = Signer(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])
        call = {"token": table.json["token"], "signer": signer}
        assert (await gateway.put("greeting", "hello", headers=PUBLIC, **call)).json == {"ok": True}
        assert (await gateway.get("greeting", headers=PUBLIC, **call)).json["value"] == "hello"
        assert (await gateway.get("greeting", **call)).error == "invalid_host"
