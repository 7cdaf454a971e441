"""One JSON line per request when switched on; never a token, secret, key or value."""

import json
import logging

import pytest

from gateway.credentials.keyring import ApprovedRoles
from gateway.dataplane.access_log import LINES_PER_SECOND
from gateway.directory.tokens import new_token
from gateway.observability.logs import JsonFormatter
from tests.credentials.sessions import issue, signer_of
from tests.support.config import ROLE, TABLE_TOKEN
from tests.support.gateway import run_gateway

LOOP_MAKES_NO_DIFFERENCE = True


@pytest.fixture
async def logged(caplog):
    """A gateway that logs every request, and the lines it has written."""
    caplog.set_level(logging.INFO, "kvs.access")

    def lines():
        records = [record for record in caplog.records if record.name == "kvs.access"]
        return [json.loads(JsonFormatter().format(record)) for record in records]

    async with run_gateway({"logging": {"access": 1.0}}) as gateway:
        yield gateway, lines


async def test_a_served_request_is_one_line_with_tenant_operation_status_duration_and_bytes(logged):
    gateway, lines = logged
    reply = await gateway.call("put", b'{"key":"k","value":1}', headers={"x-request-id": "mine"})
    (line,) = lines()
    assert line["request_id"] == "mine"
    assert line["tenant"] == ["acme", "shop", "production", "sessions"]
    assert (line["operation"], line["status"], line["code"]) == ("put", 200, None)
    assert (line["request_bytes"], line["response_bytes"]) == (21, len(reply.body))
    assert line["duration_ms"] >= 0


async def test_a_refused_request_is_a_line_with_its_code_and_without_a_tenant(logged):
    gateway, lines = logged
    await gateway.get("k", token=None)
    (line,) = lines()
    assert (line["status"], line["code"], line["tenant"]) == (401, "missing_token", None)


async def test_lines_hold_no_token_key_or_value(logged):
    gateway, lines = logged
    await gateway.put("canary-key", "canary-value")
    await gateway.get("canary-key", token="canary-token")
    text = json.dumps(lines())
    assert "canary" not in text
    assert TABLE_TOKEN not in text


async def test_a_refusal_of_the_token_names_role_access_key_and_peer(logged):
    gateway, lines = logged
    await gateway.get("k", token=new_token())
    (line,) = lines()
    assert line["code"] == "invalid_token"
    assert (line["role"], line["access_key_id"], line["peer"]) == (ROLE, "AKIDEXAMPLE", "127.0.0.1")


async def test_a_refusal_of_the_signature_names_the_stated_access_key_and_no_role(logged):
    gateway, lines = logged
    await gateway.get("k", signer=gateway.signer.but(secret_access_key="wrong"))
    await gateway.get("k", signer=gateway.signer.but(access_key_id="AKIDSTRANGER"))
    await gateway.get("k", signer=None)
    named = [(line["role"], line["access_key_id"], line["peer"]) for line in lines()]
    stated = ["AKIDEXAMPLE", "AKIDSTRANGER", None]
    assert named == [(None, access_key_id, "127.0.0.1") for access_key_id in stated]


async def test_a_role_that_is_not_approved_is_named(logged, monkeypatch):
    gateway, lines = logged
    session = signer_of(await issue(gateway))
    monkeypatch.setattr(gateway.app.data.pipeline._signature, "_roles", ApprovedRoles([]))
    await gateway.get("k", signer=session)
    (line,) = lines()
    assert (line["code"], line["role"]) == ("caller_not_approved", ROLE)
    assert line["access_key_id"] == session.access_key_id


@pytest.mark.parametrize("stated", ["A" * 128, "AKID_OF_7"])
async def test_a_stated_access_key_id_is_shown_whole(logged, stated):
    gateway, lines = logged
    await gateway.get("k", signer=gateway.signer.but(access_key_id=stated))
    assert lines()[0]["access_key_id"] == stated


@pytest.mark.parametrize(
    "stated", ["A" * 129, "A" * 5000, "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY", "kvs_0aB", 'A"level":"x']
)
async def test_a_malformed_access_key_id_is_not_logged(logged, stated):
    gateway, lines = logged
    await gateway.get("k", signer=gateway.signer.but(access_key_id=stated))
    (line,) = lines()
    assert (line["access_key_id"], line["level"]) == ("unknown", "warning")
    assert stated not in json.dumps(line)


@pytest.mark.parametrize("own", ['","status":200,"x":"', "\\n{}", "!" * 128])
async def test_a_clients_own_id_stays_one_field_of_one_line(logged, own):
    gateway, lines = logged
    reply = await gateway.get("k", token=None, headers={"x-request-id": own})
    (line,) = lines()
    assert (line["request_id"], line["status"]) == (own, reply.status) == (own, 401)


async def test_a_served_request_names_nobody(logged):
    gateway, lines = logged
    await gateway.get("k")
    assert not lines()[0].keys() & {"role", "access_key_id", "peer"}


async def test_refused_callers_are_a_bounded_number_of_lines_if_access_is_zero(caplog, gateway, monkeypatch):
    now_seconds = 7.0
    monkeypatch.setattr(gateway.app.data.handler._access_log._throttle, "_now_seconds", lambda: now_seconds)
    for _ in range(LINES_PER_SECOND):
        await gateway.get("k", token="nobody")
        await gateway.get("k", signer=None)
    records = [record for record in caplog.records if record.name == "kvs.access"]
    assert len(records) == LINES_PER_SECOND
    assert {record.fields["peer"] for record in records} == {"127.0.0.1"}
    now_seconds = 8.0
    await gateway.get("k", token="nobody")
    assert len([record for record in caplog.records if record.name == "kvs.access"]) == LINES_PER_SECOND + 1


async def test_nothing_is_logged_if_access_is_zero(caplog, gateway):
    caplog.set_level(logging.INFO)
    await gateway.put("k", 1)
    assert not [record for record in caplog.records if record.name == "kvs.access"]
