"""Temporary credentials are issued, used, bound to an app environment, and expire."""

import hmac
from hashlib import sha256

import pytest

from gateway.credentials.session import SessionCredentials
from tests.credentials.sessions import PLACE, claims_of, decode, issue, session_signer, signer_of
from tests.sigv4.wire import assert_refused, signed
from tests.support.config import MASTER_KEY, ROLE
from tests.support.gateway import run_gateway

UNKNOWN = (
    "invalid_credentials",
    "UnrecognizedClientException",
    "The security token included in the request is invalid.",
)
EXPIRED = (
    "invalid_credentials",
    "ExpiredTokenException",
    "The security token included in the request is expired.",
)
NOT_APPROVED = (
    "caller_not_approved",
    "AccessDeniedException",
    "User is not authorized to access this resource",
)
OTHER_APP = {
    "org": "acme",
    "app": "blog",
    "type": "sse",
    "tables": [{"name": "posts", "token": "blog-token"}],
}


@pytest.fixture
async def two_apps():
    """Runs a gateway that serves two apps."""
    shop = {
        "org": "acme",
        "app": "shop",
        "type": "api",
        "tables": [{"name": "s", "token": "test-table-token"}],
    }
    staging = {
        **OTHER_APP,
        "app": "shop",
        "env": "staging",
        "tables": [{"name": "s", "token": "staging-token"}],
    }
    async with run_gateway({"apps": [shop, OTHER_APP, staging]}) as running:
        yield running


async def test_issued_credentials_have_the_form_that_aws_tools_read(gateway):
    issued = await issue(gateway, ttl_seconds=900)
    assert set(issued) == {"Version", "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}
    assert issued["Version"] == 1
    assert issued["AccessKeyId"].startswith("ASIA")
    assert issued["Expiration"] == "2026-11-20T00:15:00.000Z"


async def test_issued_credentials_put_get_and_delete(gateway):
    signer = await session_signer(gateway)
    assert (await gateway.put("k", {"a": "ü"}, signer=signer)).json == {"ok": True}
    assert (await gateway.get("k", signer=signer)).json["value"] == {"a": "ü"}
    assert (await gateway.delete("k", signer=signer)).json == {"deleted": True}


async def test_issued_credentials_are_all_different(gateway):
    first, second = await issue(gateway), await issue(gateway)
    for part in ("AccessKeyId", "SecretAccessKey", "SessionToken"):
        assert first[part] != second[part]


async def test_the_token_is_its_claims_and_their_proof_and_the_secret_follows_from_it(gateway):
    issued = await issue(gateway, ttl_seconds=900, **PLACE)
    claims, proof = issued["SessionToken"].split(".")
    assert decode(proof) == hmac.digest(MASTER_KEY.encode(), decode(claims), "sha256")
    labelled = b"secret" + issued["SessionToken"].encode()
    assert decode(issued["SecretAccessKey"]) == hmac.digest(MASTER_KEY.encode(), labelled, sha256)


async def test_the_claims_hold_role_environment_and_lifetime(gateway):
    issued = await issue(gateway, ttl_seconds=900, **PLACE)
    claims = claims_of(issued["SessionToken"])
    assert claims["access_key_id"] == issued["AccessKeyId"]
    assert claims["role"] == ROLE
    assert claims["environment"] == PLACE
    assert claims["expires_at"] - claims["issued_at"] == 900
    assert issued["SecretAccessKey"] not in str(claims)


async def test_credentials_serve_until_the_second_of_their_expiry(gateway):
    signer = await session_signer(gateway, ttl_seconds=900)
    gateway.clock.advance(899_999)
    assert (await gateway.put("k", 1, signer=signer)).status == 200
    gateway.clock.advance(1)
    assert_refused(await gateway.put("k", 1, signer=signer), *EXPIRED)


async def test_unused_credentials_expire(gateway):
    signer = await session_signer(gateway, ttl_seconds=900)
    gateway.clock.advance(900_000)
    assert_refused(await gateway.put("k", 1, signer=signer), *EXPIRED)


async def test_another_secret_is_a_mismatch(gateway):
    signer = (await session_signer(gateway)).but(secret_access_key="wrong")
    reply = await gateway.put("k", 1, signer=signer)
    assert_refused(reply, "signature_mismatch", "InvalidSignatureException")


async def test_the_token_of_one_session_does_not_serve_the_key_of_another(gateway):
    first, second = await session_signer(gateway), await session_signer(gateway)
    reply = await gateway.put("k", 1, signer=first.but(session_token=second.session_token))
    assert_refused(reply, *UNKNOWN)


async def test_a_session_key_without_its_token_is_unknown(gateway):
    signer = (await session_signer(gateway)).but(session_token=None)
    assert_refused(await gateway.put("k", 1, signer=signer), *UNKNOWN)


async def test_a_static_key_with_a_session_token_is_unknown(gateway):
    token = (await session_signer(gateway)).session_token
    assert_refused(await gateway.put("k", 1, signer=gateway.signer.but(session_token=token)), *UNKNOWN)


async def test_two_session_tokens_are_unknown(gateway):
    wire = signed(gateway, signer=await session_signer(gateway))
    twice = wire.add("X-Amz-Security-Token", wire.value("X-Amz-Security-Token"))
    assert_refused(await twice.send(gateway), *UNKNOWN)


async def test_a_session_token_is_no_table_token(gateway):
    signer = await session_signer(gateway)
    reply = await gateway.put("k", 1, token=signer.session_token, signer=signer)
    assert (reply.status, reply.error) == (401, "invalid_token")


async def test_session_tokens_are_unknown_if_sessions_are_off():
    async with run_gateway({"signature": {"credentials": {"session": None}}}) as gateway:
        sessions = SessionCredentials([MASTER_KEY], gateway.clock)
        issued = sessions.issue(ROLE, 900, None)
        signer = gateway.signer.but(
            access_key_id=issued.access_key_id,
            secret_access_key=issued.secret_access_key,
            session_token=issued.session_token,
        )
        assert_refused(await gateway.put("k", 1, signer=signer), *UNKNOWN)


async def test_unbound_credentials_serve_every_app(two_apps):
    signer = await session_signer(two_apps)
    for token in ("test-table-token", "blog-token", "staging-token"):
        assert (await two_apps.put("k", 1, token=token, signer=signer)).status == 200


async def test_bound_credentials_serve_their_app_environment(two_apps):
    signer = await session_signer(two_apps, **PLACE)
    assert (await two_apps.put("k", 1, signer=signer)).status == 200


@pytest.mark.parametrize("token", ["blog-token", "staging-token"])
async def test_bound_credentials_are_not_approved_for_another_app_environment(two_apps, token):
    signer = await session_signer(two_apps, **PLACE)
    assert_refused(await two_apps.put("k", 1, token=token, signer=signer), *NOT_APPROVED)


async def test_bound_credentials_with_a_bad_table_token_are_unauthorized(two_apps):
    signer = await session_signer(two_apps, **PLACE)
    reply = await two_apps.put("k", 1, token="no-such-token", signer=signer)
    assert (reply.status, reply.json) == (401, {"error": "invalid_token"})


async def test_a_role_that_is_no_longer_approved_is_refused(gateway):
    signer = await session_signer(gateway)
    changes = {
        "signature": {
            "approved_roles": ["arn:aws:iam::*:role/other-*"],
            "credentials": {"static": []},
        }
    }
    async with run_gateway(changes, clock=gateway.clock) as stricter:
        assert_refused(await stricter.put("k", 1, signer=signer), *NOT_APPROVED)


async def test_another_replica_with_the_same_master_key_knows_the_session(gateway):
    signer = signer_of(await issue(gateway))
    async with run_gateway(clock=gateway.clock) as other:
        assert (await other.put("k", 1, signer=signer)).status == 200
