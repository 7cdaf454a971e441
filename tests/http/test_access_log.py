"""One JSON line per request when switched on; never a token, secret, key or value."""

import json
import logging

import pytest

from gateway.observability.logs import JsonFormatter
from tests.support.config import TABLE_TOKEN
from tests.support.gateway import run_gateway


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


async def test_nothing_is_logged_where_access_is_zero(caplog, gateway):
    caplog.set_level(logging.INFO)
    await gateway.put("k", 1)
    assert not [record for record in caplog.records if record.name == "kvs.access"]
