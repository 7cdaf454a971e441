"""A request with several faults is refused for the first one of a fixed order."""

import pytest

from gateway.credentials.session import SessionCredentials
from tests.sigv4.wire import signed
from tests.support.config import MASTER_KEY
from tests.support.gateway import run_gateway
from tests.support.signing import Signer

HOST = "kvs.example.com"
STRANGER = "arn:aws:iam::123456789012:role/stranger"

FAULTS = {
    "no-authorization": ("missing_signature", lambda wire: wire.drop("Authorization")),
    "shape": ("incomplete_signature", lambda wire: wire.edit("Signature=", "Signature=x")),
    "region": ("invalid_region", lambda wire: wire.edit("eu-central-1", "us-east-1")),
    "service": ("invalid_service", lambda wire: wire.edit("execute-api", "s3")),
    "terminator": ("invalid_scope", lambda wire: wire.edit("aws4_request", "aws5_request")),
    "time": ("signature_expired", lambda wire: wire.set("X-Amz-Date", "20261120T000501Z")),
    "unsigned": ("incomplete_signature", lambda wire: wire.add("X-Amz-Meta", "added")),
    "host": ("invalid_host", lambda wire: wire.set("Host", "evil.example.com")),
    "key": ("invalid_credentials", lambda wire: wire.edit("Credential=ASIA", "Credential=AKIA")),
    "signature": ("signature_mismatch", lambda wire: wire.but(body=wire.body + b" ")),
    "role": ("caller_not_approved", lambda wire: wire),
}


def signer_of_a_stranger(gateway) -> Signer:
    sessions = SessionCredentials([MASTER_KEY], gateway.clock)
    issued = sessions.issue(STRANGER, 3600, None)
    return Signer(issued.access_key_id, issued.secret_access_key, issued.session_token)


@pytest.mark.parametrize("first", list(FAULTS))
async def test_the_first_fault_answers_for_all_that_follow_it(first):
    async with run_gateway({"public_hosts": [HOST]}) as gateway:
        stranger = signer_of_a_stranger(gateway)
        wire = signed(gateway, signer=stranger, headers={"Host": HOST}, token="no-such-token")
        names = list(FAULTS)
        for _, spoil in reversed([FAULTS[name] for name in names[names.index(first) :]]):
            wire = spoil(wire)
        reply = await wire.send(gateway)
        assert (reply.status, reply.error) == (403, FAULTS[first][0])


async def test_a_missing_date_answers_before_a_wrong_region(gateway):
    wire = signed(gateway).drop("X-Amz-Date").edit("eu-central-1", "us-east-1")
    assert (await wire.send(gateway)).error == "incomplete_signature"


async def test_a_wrong_scope_date_answers_before_an_expired_time(gateway):
    wire = signed(gateway, late_seconds=400)
    assert (await wire.edit("/20261119/", "/20261120/").send(gateway)).error == "invalid_scope"


async def test_a_wrong_terminator_answers_before_a_wrong_scope_date(gateway):
    wire = signed(gateway).edit("/20261120/", "/20261119/").edit("aws4_request", "aws5_request")
    assert "terminator" in (await wire.send(gateway)).json["message"]


async def test_an_unknown_path_answers_before_a_missing_signature(gateway):
    wire = signed(gateway).drop("Authorization").but(target=b"/v1/post")
    assert (await wire.send(gateway)).status == 404


async def test_a_large_body_answers_before_a_missing_signature(gateway):
    reply = await gateway.call("put", b" " * 131_073, signer=None)
    assert (reply.status, reply.json) == (413, {"error": "body_too_large"})


@pytest.mark.parametrize("token", [None, "no-such-token"])
async def test_layer_1_answers_before_layer_2(gateway, token):
    reply = await gateway.put("k", 1, token=token, signer=None)
    assert (reply.status, reply.error) == (403, "missing_signature")


@pytest.mark.parametrize(("token", "code"), [(None, "missing_token"), ("no-such-token", "invalid_token")])
async def test_layer_2_answers_once_layer_1_holds(gateway, token, code):
    reply = await gateway.put("k", 1, token=token)
    assert (reply.status, reply.json) == (401, {"error": code})


async def test_layer_1_answers_before_the_content(gateway):
    reply = await gateway.call("put", b"no json", signer=gateway.signer.but(secret_access_key="wrong"))
    assert reply.error == "signature_mismatch"
