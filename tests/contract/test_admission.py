"""Admission by app type and status."""

import pytest

from tests.support.gateway import run_gateway

SERVED = ["api", "web-ssr", "sse"]
NOT_SERVED = ["web", "static", "worker"]
APPS = [
    {"org": "acme", "app": kind, "type": kind, "tables": [{"name": "t", "token": f"token-{kind}"}]}
    for kind in SERVED + NOT_SERVED
] + [
    {
        "org": "acme",
        "app": "asleep",
        "type": "api",
        "status": "inactive",
        "tables": [{"name": "t", "token": "token-asleep"}],
    }
]


@pytest.fixture
async def gateway():
    async with run_gateway({"apps": APPS}) as running:
        yield running


@pytest.mark.parametrize("kind", SERVED)
async def test_a_supported_app_type_is_served(gateway, kind):
    assert (await gateway.put("k", 1, token=f"token-{kind}")).json == {"ok": True}


@pytest.mark.parametrize("operation", ["put", "get", "delete"])
@pytest.mark.parametrize("kind", NOT_SERVED)
async def test_any_other_app_type_is_refused(gateway, kind, operation):
    reply = await gateway.call(operation, {"key": "k", "value": 1}, token=f"token-{kind}")
    assert (reply.status, reply.json) == (403, {"error": "unsupported_app_type"})


@pytest.mark.parametrize("operation", ["put", "get", "delete"])
async def test_an_inactive_binding_is_refused(gateway, operation):
    reply = await gateway.call(operation, {"key": "k", "value": 1}, token="token-asleep")
    assert (reply.status, reply.json) == (403, {"error": "binding_inactive"})


async def test_a_refused_app_reaches_no_store(gateway):
    await gateway.put("k", 1, token="token-asleep")
    await gateway.put("k", 1, token="token-web")
    assert gateway.faults.count("charge") == gateway.faults.count("put") == 0
