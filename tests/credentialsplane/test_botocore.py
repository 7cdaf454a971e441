"""Unmodified botocore finds and refreshes its credentials through its own chain, as in a pod."""

import asyncio
import time

import pytest
from botocore.session import Session

from tests.credentialsplane.workloads import CONTAINER, TOKEN, vouch, vouched
from tests.support.clock import FakeClock
from tests.support.config import ROLE
from tests.support.gateway import Gateway, run_gateway
from tests.support.signing import Signer

SHORTEST_SECONDS = 900
"""botocore refreshes credentials that expire within 15 minutes, so these are refreshed at every use."""


@pytest.fixture(params=["web identity", "container", "container with a file"])
async def pod(request, tmp_path, monkeypatch):
    """A gateway on the real clock, and the environment of a pod."""
    now = FakeClock(int(time.time()) * 1000)
    changes = vouched(tmp_path)
    changes["signature"] = {"credentials": {"session": {"max_ttl_seconds": SHORTEST_SECONDS}}}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    async with run_gateway(changes, clock=now) as gateway:
        url = gateway.replica.urls["credentials"]
        (tmp_path / "jwt").write_text(vouch(clock=now, exp=now.wall_ms() // 1000 + 7200))
        (tmp_path / "token").write_text(TOKEN)
        container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url + CONTAINER}
        variables = {
            "web identity": {
                "AWS_ENDPOINT_URL_STS": url,
                "AWS_ROLE_ARN": ROLE,
                "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "jwt"),
                "AWS_DEFAULT_REGION": "eu-central-1",
            },
            "container": {**container, "AWS_CONTAINER_AUTHORIZATION_TOKEN": TOKEN},
            "container with a file": {
                **container,
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(tmp_path / "token"),
            },
        }
        for name, value in variables[request.param].items():
            monkeypatch.setenv(name, value)
        yield gateway


async def test_botocore_puts_gets_and_refreshes_credentials(pod: Gateway):
    credentials = await asyncio.to_thread(lambda: Session().get_credentials())
    first = await _signer(credentials)
    assert (await pod.put("k", 1, signer=first)).status == 200
    pod.clock.advance(SHORTEST_SECONDS * 1000)
    assert (await pod.get("k", signer=first)).error == "invalid_credentials"
    second = await _signer(credentials)
    assert second.access_key_id != first.access_key_id
    assert (await pod.get("k", signer=second)).json["value"] == 1


async def _signer(credentials) -> Signer:
    frozen = await asyncio.to_thread(credentials.get_frozen_credentials)
    return Signer(frozen.access_key, frozen.secret_key, frozen.token)
