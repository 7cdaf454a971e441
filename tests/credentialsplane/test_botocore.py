"""Unmodified botocore finds and refreshes its credentials through its own chain, as in a pod."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.session import Session

from tests.credentialsplane.workloads import CONTAINER, SUBJECT, TOKEN, assume, vouch, vouched
from tests.identity.issuer import PRIVATE, jwks, shown
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


@pytest.mark.parametrize("mode", ["legacy", "standard"])
async def test_botocore_repeats_a_request_whose_key_is_not_known_yet(tmp_path, monkeypatch, mode):
    now = FakeClock(int(time.time()) * 1000)
    async with run_gateway(vouched(tmp_path), clock=now) as gateway:
        assert (await assume(gateway, vouch(clock=now))).status == 200
        (tmp_path / "keys.json").write_bytes(jwks(shown(PRIVATE["ES256"], "new")))
        sent = vouch(clock=now, headers={"kid": "new"}, exp=now.wall_ms() // 1000 + 7200)
        paused = []

        def pause(seconds: float) -> None:
            paused.append(seconds)
            now.advance(10_000)

        monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=pause))
        answer = await asyncio.to_thread(_assume_by_botocore, gateway.replica.urls["credentials"], sent, mode)
        assert len(paused) == 1
        assert answer["SubjectFromWebIdentityToken"] == SUBJECT


def _assume_by_botocore(url: str, sent: str, mode: str) -> dict[str, Any]:
    config = Config(retries={"mode": mode}, signature_version=UNSIGNED)
    sts = Session().create_client("sts", "eu-central-1", endpoint_url=url, config=config)
    try:
        return sts.assume_role_with_web_identity(
            RoleArn=ROLE, RoleSessionName="session-1", WebIdentityToken=sent
        )
    finally:
        sts.close()


async def _signer(credentials) -> Signer:
    frozen = await asyncio.to_thread(credentials.get_frozen_credentials)
    return Signer(frozen.access_key, frozen.secret_key, frozen.token)
