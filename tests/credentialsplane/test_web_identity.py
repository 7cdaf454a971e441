"""`AssumeRoleWithWebIdentity`: requests, responses and refusals in the form of STS."""

from xml.etree import ElementTree as ET

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.credentialsplane.workloads import (
    NAMESPACE,
    OTHER_ROLE,
    SHOP,
    SUBJECT,
    TOKEN,
    assume,
    fetch,
    found,
    signer_in,
    signer_of,
    vouch,
    vouched,
)
from tests.identity.issuer import AUDIENCE, ISSUER, PRIVATE, claims, jwks, shown
from tests.support.clock import FakeClock
from tests.support.config import ROLE
from tests.support.gateway import run_gateway


async def test_the_response_is_that_of_sts(trusting):
    reply = await assume(trusting, vouch())
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/xml")
    root = ET.fromstring(reply.body)
    assert root.tag == f"{{{NAMESPACE}}}AssumeRoleWithWebIdentityResponse"
    assert found(reply, "SubjectFromWebIdentityToken", "Audience", "Provider") == [SUBJECT, AUDIENCE, ISSUER]
    assert found(reply, "Arn") == [
        "arn:aws:sts::123456789012:assumed-role/managed-app-test/session-1",
    ]
    assert found(reply, "AssumedRoleId")[0].endswith(":session-1")
    assert found(reply, "Expiration") == ["2026-11-20T01:00:00Z"]
    assert found(reply, "RequestId") == [reply.headers["x-amzn-RequestId"]] == [reply.headers["x-request-id"]]
    assert reply.headers["Cache-Control"] == "no-store"


async def test_the_credentials_put_until_they_expire(trusting):
    signer = signer_in(await assume(trusting, vouch(), DurationSeconds="900"))
    assert (await trusting.put("k", 1, signer=signer)).status == 200
    trusting.clock.advance(900_000)
    assert (await trusting.put("k", 1, signer=signer)).error == "invalid_credentials"


async def test_the_container_endpoint_accepts_the_same_tokens(trusting):
    signer = signer_of(await fetch(trusting, vouch()))
    assert (await trusting.put("k", 1, signer=signer)).status == 200


async def test_parameters_may_be_in_the_query(trusting):
    query = "?Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
    assert (await assume(trusting, vouch(), query=query, Action=None, Version=None)).status == 200


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"WebIdentityToken": "a.b.c"}, 400, "InvalidIdentityToken"),
        ({"WebIdentityToken": TOKEN}, 400, "InvalidIdentityToken"),
        ({"RoleArn": OTHER_ROLE}, 403, "AccessDenied"),
        ({"Action": "AssumeRole"}, 400, "InvalidAction"),
        ({"Action": None}, 400, "InvalidAction"),
        ({"Version": "2012-01-01"}, 400, "InvalidAction"),
        ({"RoleArn": None}, 400, "ValidationError"),
        ({"RoleSessionName": None}, 400, "ValidationError"),
        ({"RoleSessionName": "x"}, 400, "ValidationError"),
        ({"RoleSessionName": "<script>"}, 400, "ValidationError"),
        ({"WebIdentityToken": ""}, 400, "ValidationError"),
        ({"WebIdentityToken": "x" * 20_001}, 400, "ValidationError"),
        ({"WebIdentityToken": "é"}, 400, "ValidationError"),
        ({"DurationSeconds": "899"}, 400, "ValidationError"),
        ({"DurationSeconds": "43201"}, 400, "ValidationError"),
        ({"DurationSeconds": "1e3"}, 400, "ValidationError"),
        ({"DurationSeconds": ""}, 400, "ValidationError"),
        ({"Policy": "{}"}, 400, "ValidationError"),
        ({"PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/X"}, 400, "ValidationError"),
    ],
    ids=str,
)
async def test_a_refusal_has_the_code_that_sts_has(trusting, changes, status, code):
    reply = await assume(trusting, vouch(), **changes)
    assert (reply.status, reply.headers["Content-Type"]) == (status, "text/xml")
    assert found(reply, "Type", "Code", "RequestId") == ["Sender", code, reply.headers["x-request-id"]]
    assert found(reply, "Message") != [None]


async def test_an_expired_token_has_its_own_error_code(trusting):
    reply = await assume(trusting, vouch(exp=FakeClock().wall_ms() // 1000))
    assert (reply.status, found(reply, "Code")) == (400, ["ExpiredTokenException"])


async def test_a_service_account_of_another_namespace_is_denied(trusting):
    reply = await assume(trusting, vouch("system:serviceaccount:evil:api"))
    assert (reply.status, found(reply, "Code")) == (403, ["AccessDenied"])


async def test_a_token_for_another_audience_is_refused(trusting):
    reply = await assume(trusting, vouch(aud="https://kubernetes.default.svc"))
    assert found(reply, "Code") == ["InvalidIdentityToken"]


async def test_a_token_signed_by_an_impostor_of_the_issuer_is_refused(trusting):
    stranger = ec.generate_private_key(ec.SECP256R1())
    forged = jwt.encode(claims(FakeClock(), sub=SUBJECT), stranger, "ES256", headers={"kid": "ES256"})
    assert found(await assume(trusting, forged), "Code") == ["InvalidIdentityToken"]


async def test_the_role_must_be_that_of_the_subject_even_if_others_are_approved(tmp_path):
    other = {"subject": "other", "role": OTHER_ROLE, **SHOP, "app": "blog"}
    async with run_gateway(vouched(tmp_path, other)) as gateway:
        assert (await assume(gateway, vouch("other"), RoleArn=OTHER_ROLE)).status == 200
        assert (await assume(gateway, vouch("other"), RoleArn=ROLE)).status == 403
        signer = signer_in(await assume(gateway, vouch("other"), RoleArn=OTHER_ROLE))
        assert (await gateway.put("k", 1, signer=signer)).error == "caller_not_approved"


async def test_an_issuer_that_is_down_is_not_reported_as_an_invalid_token(tmp_path):
    changes = vouched(tmp_path)
    changes["workloads"][0]["jwks"] = "https://127.0.0.1:1/keys"
    async with run_gateway(changes) as gateway:
        reply = await assume(gateway, vouch())
        assert (reply.status, found(reply, "Type", "Code")) == (503, ["Receiver", "IDPCommunicationError"])
        assert 1 <= int(reply.headers["Retry-After"]) <= 10
        assert (await fetch(gateway, vouch())).status == 503
        assert (await fetch(gateway)).status == 200


async def test_a_stranger_does_not_make_the_token_of_a_new_key_invalid(tmp_path):
    changes = vouched(tmp_path)
    async with run_gateway(changes) as gateway:
        assert (await assume(gateway, vouch())).status == 200
        gateway.clock.advance(10_000)
        reply = await assume(gateway, vouch(headers={"kid": "stranger"}))
        assert found(reply, "Code") == ["InvalidIdentityToken"]
        (tmp_path / "keys.json").write_bytes(jwks(shown(PRIVATE["ES256"], "new")))
        sent = vouch(headers={"kid": "new"})
        for reply in (await assume(gateway, sent), await fetch(gateway, sent)):
            assert (reply.status, reply.headers["Retry-After"]) == (503, "10")
        gateway.clock.advance(10_000)
        assert (await assume(gateway, sent)).status == 200


async def test_a_repeated_parameter_is_refused(trusting):
    reply = await assume(trusting, vouch(), query=f"?RoleArn={ROLE}")
    assert found(reply, "Code") == ["ValidationError"]


@pytest.mark.parametrize(
    "content", [b"\xff", b"&" * 60_000, b"a=1&" * 1000, b"%ff=%ff", b"a=" + b"%41" * 1001, b"{}"]
)
async def test_a_malformed_form_is_refused(trusting, content):
    reply = await trusting.fetch("POST", "/", content)
    assert reply.status == 400
    assert found(reply, "Code")[0] in ("ValidationError", "InvalidAction")


async def test_the_rate_of_a_workload_is_refused_as_throttling(tmp_path):
    async with run_gateway(vouched(tmp_path, requests_per_minute_per_address=1)) as gateway:
        assert (await assume(gateway, vouch())).status == 200
        reply = await assume(gateway, vouch())
        assert (reply.status, found(reply, "Code"), reply.headers["Retry-After"]) == (
            400,
            ["Throttling"],
            "60",
        )


async def test_no_token_is_quoted(trusting, caplog):
    token = vouch("system:serviceaccount:evil:api")
    reply = await assume(trusting, token)
    assert token.encode() not in reply.body
    assert token not in "".join(str(record.__dict__) for record in caplog.records)


async def test_a_shorter_maximum_is_also_the_minimum(tmp_path):
    session = {"session": {"max_ttl_seconds": 60}}
    changes = vouched(tmp_path) | {"signature": {"credentials": session}}
    async with run_gateway(changes) as gateway:
        assert found(await assume(gateway, vouch()), "Expiration") == ["2026-11-20T00:01:00Z"]
        assert (await assume(gateway, vouch(), DurationSeconds="60")).status == 200
        assert (await assume(gateway, vouch(), DurationSeconds="61")).status == 400
