"""The fault that answers if a call has several. Each row breaks one stage and stages behind it."""

from dataclasses import dataclass

import pytest

from tests.support.gateway import run_gateway

GOOD_BODY = b'{"key":"k","value":1}'
LARGE_BODY = b" " * 131_073
INACTIVE, STATIC = "inactive-app-token", "static-app-token"
APPS = [
    {
        "org": "acme",
        "app": "shop",
        "type": "api",
        "requests_per_minute": 1,
        "tables": [{"name": "sessions", "token": "test-table-token"}],
    },
    {
        "org": "acme",
        "app": "asleep",
        "type": "web",
        "status": "inactive",
        "tables": [{"name": "t", "token": INACTIVE}],
    },
    {"org": "acme", "app": "site", "type": "web", "tables": [{"name": "t", "token": STATIC}]},
]


@dataclass(frozen=True)
class Faulty:
    """A call with everything wrong from some stage on."""

    operation: str = "put"
    body: bytes = b"{"
    signed: bool = True
    token: str | None = "test-table-token"
    content_type: str = "text/plain"
    exhausted: bool = True


ROWS = {
    "unknown route": (Faulty(operation="scan", body=LARGE_BODY, signed=False), 404, "not_found"),
    "body size": (Faulty(body=LARGE_BODY, signed=False, token=None), 413, "body_too_large"),
    "signature": (Faulty(signed=False, token="wrong"), 403, "missing_signature"),
    "signature, no token": (Faulty(signed=False, token=None), 403, "missing_signature"),
    "signature, inactive": (Faulty(signed=False, token=INACTIVE), 403, "missing_signature"),
    "missing token": (Faulty(token=None), 401, "missing_token"),
    "wrong token": (Faulty(token="wrong"), 401, "invalid_token"),
    "inactive and static": (Faulty(token=INACTIVE), 403, "binding_inactive"),
    "static": (Faulty(token=STATIC), 403, "unsupported_app_type"),
    "rate limit": (Faulty(), 429, "rate_limited"),
    "content": (Faulty(exhausted=False), 400, "invalid_content_type"),
}


@pytest.fixture
async def gateway():
    async with run_gateway({"apps": APPS}) as running:
        running.faults.fail = {"put", "get", "delete"}
        yield running


async def send(gateway, call: Faulty):
    if call.exhausted:
        assert (await gateway.call("get", GOOD_BODY)).error == "storage_unavailable"
    return await gateway.call(
        call.operation,
        call.body,
        token=call.token,
        signer="own" if call.signed else None,
        headers={"Content-Type": call.content_type},
    )


@pytest.mark.parametrize(("call", "status", "code"), ROWS.values(), ids=ROWS.keys())
async def test_the_first_fault_answers(gateway, call, status, code):
    reply = await send(gateway, call)
    assert (reply.status, reply.error) == (status, code)


CONTENT = {
    "content type before JSON": ("text/plain", b"{", "invalid_content_type"),
    "JSON before key": ("application/json", b'{"key":"","value":NaN}', "invalid_json"),
    "JSON of a later field before key": ("application/json", b'{"key":"","x":01}', "invalid_json"),
    "key before value": ("application/json", b'{"key":"","ttlSeconds":1}', "invalid_key"),
    "key before ttl": ("application/json", b'{"key":"","value":1,"ttlSeconds":1}', "invalid_key"),
    "value before ttl": ("application/json", b'{"key":"k","ttlSeconds":1}', "invalid_value"),
    "long value before ttl": (
        "application/json",
        b'{"ttlSeconds":1,"key":"k","value":"' + b"x" * 65_536 + b'"}',
        "invalid_value",
    ),
    "ttl before the store": ("application/json", b'{"key":"k","value":1,"ttlSeconds":1}', "invalid_ttl"),
    "the store": ("application/json", GOOD_BODY, "storage_unavailable"),
}


@pytest.mark.parametrize(("content_type", "body", "code"), CONTENT.values(), ids=CONTENT.keys())
async def test_inside_the_content_the_first_fault_answers(gateway, content_type, body, code):
    reply = await gateway.call("put", body, headers={"Content-Type": content_type})
    assert reply.error == code


async def test_the_limit_is_charged_before_the_content_is_looked_at(gateway):
    assert (await gateway.call("put", b"{")).error == "invalid_json"
    assert (await gateway.call("put", b"{")).error == "rate_limited"


@pytest.mark.parametrize("call", [Faulty(signed=False), Faulty(token="wrong"), Faulty(body=LARGE_BODY)])
async def test_a_call_that_an_earlier_stage_refuses_is_not_charged(gateway, call):
    await send(gateway, Faulty(call.operation, call.body, call.signed, call.token, exhausted=False))
    assert (await gateway.call("put", b"{}", headers={"Content-Type": "application/json"})).status == 400


@pytest.mark.parametrize(("call", "status", "code"), ROWS.values(), ids=ROWS.keys())
async def test_no_refusal_reaches_the_entries_of_a_store(gateway, call, status, code):
    await send(gateway, call)
    assert gateway.faults.count("put") == 0
