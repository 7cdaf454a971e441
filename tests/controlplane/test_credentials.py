"""Session credentials are issued for approved roles and bound to an app environment."""

import pytest

from tests.controlplane.paths import CREDENTIALS
from tests.support.config import OTHER_TABLE_TOKEN, ROLE
from tests.support.gateway import run_gateway
from tests.support.signing import Signer

SHOP = {"org": "acme", "app": "shop", "env": "production"}


async def _issue(gateway, **fields):
    return await gateway.manage("POST", CREDENTIALS, {"role": ROLE, **fields})


def _signer(credentials: dict) -> Signer:
    return Signer(credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"])


async def test_credentials_have_the_form_of_credential_process(gateway):
    reply = await _issue(gateway)
    assert reply.status == 200
    assert set(reply.json) == {"Version", "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}
    assert reply.json["Version"] == 1
    assert reply.json["AccessKeyId"].startswith("ASIA")


@pytest.mark.parametrize(
    ("ttl", "expiration"),
    [({}, "2026-11-20T01:00:00.000Z"), ({"ttl_seconds": 60}, "2026-11-20T00:01:00.000Z")],
)
async def test_credentials_live_for_an_hour_or_as_requested(gateway, ttl, expiration):
    assert (await _issue(gateway, **ttl)).json["Expiration"] == expiration


async def test_issued_credentials_sign_until_they_expire(gateway):
    signer = _signer((await _issue(gateway, ttl_seconds=60)).json)
    assert (await gateway.put("k", 1, signer=signer)).status == 200
    gateway.clock.advance(60_000)
    refused = await gateway.put("k", 1, signer=signer)
    assert (refused.status, refused.error) == (403, "invalid_credentials")


async def test_credentials_bound_to_an_app_are_good_for_all_its_tables(gateway):
    signer = _signer((await _issue(gateway, **SHOP)).json)
    assert (await gateway.get("k", signer=signer)).status == 200
    assert (await gateway.get("k", signer=signer, token=OTHER_TABLE_TOKEN)).status == 200


@pytest.mark.parametrize("part", [{"org": "other"}, {"app": "blog"}, {"env": "test"}])
async def test_credentials_bound_to_another_app_environment_are_refused(gateway, part):
    signer = _signer((await _issue(gateway, **{**SHOP, **part})).json)
    refused = await gateway.get("k", signer=signer)
    assert (refused.status, refused.error) == (403, "caller_not_approved")


@pytest.mark.parametrize("missing", list(SHOP))
async def test_an_incomplete_app_environment_is_422(gateway, missing):
    reply = await _issue(gateway, **{part: name for part, name in SHOP.items() if part != missing})
    assert reply.status == 422
    reply = await _issue(gateway, **{missing: SHOP[missing]})
    assert reply.status == 422


@pytest.mark.parametrize(
    "role", ["arn:aws:iam::123456789012:role/admin", "", "managed-app-x", None, 1, [ROLE], "*"]
)
async def test_a_role_that_is_not_approved_is_422(gateway, role):
    reply = await gateway.manage("POST", CREDENTIALS, {"role": role})
    assert (reply.status, reply.json) == (422, {"error": "role_not_approved"})


async def test_a_missing_role_is_422(gateway):
    assert (await gateway.manage("POST", CREDENTIALS, {})).json == {"error": "role_not_approved"}


@pytest.mark.parametrize(("ttl_seconds", "status"), [(900, 200), (901, 422)])
async def test_the_maximum_lifetime_is_configurable(ttl_seconds, status):
    async with run_gateway({"signature": {"credentials": {"session": {"max_ttl_seconds": 900}}}}) as gateway:
        assert (await _issue(gateway, ttl_seconds=ttl_seconds)).status == status
        assert (await _issue(gateway)).json["Expiration"] == "2026-11-20T00:15:00.000Z"


async def test_without_master_keys_no_credentials_are_issued():
    async with run_gateway({"signature": {"credentials": {"session": None}}}) as gateway:
        reply = await _issue(gateway)
        assert (reply.status, reply.json) == (409, {"error": "session_credentials_disabled"})


async def test_credentials_are_unique(gateway):
    issued = [(await _issue(gateway)).json for _ in range(20)]
    assert len({each["AccessKeyId"] for each in issued}) == 20
    assert len({each["SecretAccessKey"] for each in issued}) == 20


async def test_a_role_too_long_for_a_session_token_is_not_approved(gateway):
    reply = await _issue(gateway, role="arn:aws:iam::123456789012:role/managed-app-" + "x" * 3000)
    assert (reply.status, reply.json) == (422, {"error": "role_not_approved"})
