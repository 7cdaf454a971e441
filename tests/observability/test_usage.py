"""Usage is counted exactly, by outcome and in bytes of bodies."""

import json

import pytest

from tests.support.config import OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import Gateway, run_gateway
from tests.support.scraping import (
    REQUEST_BYTES,
    REQUESTS,
    RESPONSE_BYTES,
    USAGE,
    hanging_call,
    scrape,
    series,
    total,
)

SESSIONS = {"org": "acme", "app": "shop", "env": "production", "table": "sessions"}
KEY = {"key": "k"}


async def assert_counted(gateway: Gateway, operation: str, outcome: str, times: int = 1) -> None:
    """Asserts this number of calls with this operation and outcome, and no others."""
    samples = await scrape(gateway, "/metrics/usage")
    assert total(samples, REQUESTS, operation=operation, outcome=outcome, **SESSIONS) == times
    assert total(samples, REQUESTS) == times


@pytest.mark.parametrize(
    ("operation", "body", "outcome"),
    [
        ("put", {"key": "k", "value": 1}, "ok"),
        ("get", KEY, "not_found"),
        ("delete", KEY, "ok"),
        ("put", b"{", "invalid"),
        ("put", KEY, "invalid"),
        ("put", {"key": "k", "value": 1, "ttlSeconds": 1}, "invalid"),
        ("get", {"key": ""}, "invalid"),
        ("delete", b"[]", "invalid"),
    ],
)
async def test_a_call_is_counted_with_its_outcome(gateway, operation, body, outcome):
    for _ in range(3):
        await gateway.call(operation, body)
    await assert_counted(gateway, operation, outcome, 3)


async def test_a_get_that_finds_is_ok(gateway):
    await gateway.put("k", 1)
    await gateway.get("k")
    samples = await scrape(gateway)
    assert total(samples, REQUESTS, operation="get", outcome="ok", **SESSIONS) == 1


async def test_a_get_of_an_expired_entry_is_not_found(gateway):
    await gateway.put("k", 1, ttl_seconds=60)
    gateway.clock.advance(60_000)
    await gateway.get("k")
    assert total(await scrape(gateway), REQUESTS, operation="get", outcome="not_found") == 1


@pytest.mark.parametrize(("fault", "operation"), [("put", "put"), ("get", "get"), ("charge", "delete")])
async def test_a_call_that_a_store_fails_is_an_error(gateway, fault, operation):
    gateway.faults.fail = {fault}
    assert (await gateway.call(operation, {"key": "k", "value": 1})).status == 503
    await assert_counted(gateway, operation, "error")


async def test_a_call_over_the_limit_is_rate_limited():
    async with run_gateway({"rate_limit": {"requests_per_minute": 1}}) as gateway:
        for _ in range(4):
            await gateway.get("k")
        samples = await scrape(gateway)
    assert total(samples, REQUESTS, outcome="rate_limited", **SESSIONS) == 3
    assert total(samples, REQUESTS, outcome="not_found", **SESSIONS) == 1


@pytest.mark.parametrize(
    "options",
    [{"signer": None}, {"token": None}, {"token": "nobody"}, {"path": "/v1/scan"}],
    ids=["unsigned", "no token", "unknown token", "no route"],
)
async def test_uncharged_calls_are_not_metered(gateway, options):
    await gateway.get("k", **options)
    assert total(await scrape(gateway), REQUESTS) == 0


async def test_a_call_that_is_cut_off_is_an_error(gateway):
    call = await hanging_call(gateway)
    gateway.app.drain.stop_calls()
    assert (await call).error == "shutting_down"
    await assert_counted(gateway, "get", "error")


@pytest.mark.parametrize("fault", ["charge", "get"])
async def test_a_call_with_an_unhandled_exception_is_an_error(gateway, fault):
    gateway.faults.fail, gateway.faults.error = {fault}, RuntimeError
    assert (await gateway.get("k")).error == "internal_error"
    await assert_counted(gateway, "get", "error")


async def test_a_call_whose_row_was_dropped_meanwhile_is_still_counted(gateway):
    await gateway.get("k")
    await scrape(gateway)
    call = await hanging_call(gateway)
    gateway.clock.advance(3_600_000)
    await gateway.app.data.usage.drop_idle()
    assert series(await scrape(gateway), USAGE, **SESSIONS) == []
    gateway.faults.gate.set()
    await call
    await assert_counted(gateway, "get", "not_found", 2)


async def test_bytes_are_those_of_the_bodies(gateway):
    bodies = [b'{"key":"k","value":"\xc3\xa9"}', b'{"key": "k", "value": 2, "more": true}', b"{"]
    replies = [await gateway.call("put", body) for body in bodies]
    samples = await scrape(gateway)
    sent, received = sum(map(len, bodies)), sum(len(reply.body) for reply in replies)
    assert total(samples, REQUEST_BYTES, operation="put", **SESSIONS) == sent
    assert total(samples, RESPONSE_BYTES, operation="put", **SESSIONS) == received
    assert total(samples, REQUEST_BYTES) == sent


async def test_a_large_value_is_counted_to_the_byte(gateway):
    value = "x" * 65_534
    await gateway.put("k", value)
    reply = await gateway.get("k")
    samples = await scrape(gateway)
    assert total(samples, REQUEST_BYTES, operation="put") == len(json.dumps({"key": "k", "value": value}))
    assert total(samples, RESPONSE_BYTES, operation="get") == len(reply.body)


async def test_each_table_is_counted_separately(gateway):
    await gateway.get("k")
    await gateway.get("k", token=OTHER_TABLE_TOKEN)
    await gateway.get("k", token=OTHER_TABLE_TOKEN)
    samples = await scrape(gateway)
    assert total(samples, REQUESTS, table="sessions") == 1
    assert total(samples, REQUESTS, table="carts") == 2


async def test_a_table_without_calls_has_no_series(gateway):
    await gateway.manage("PUT", "/v1/orgs/acme/apps/new", {"type": "api"})
    await gateway.manage("POST", "/v1/orgs/acme/apps/new/services/kvs/tables", {"name": "t"})
    await gateway.get("k")
    samples = await scrape(gateway, "/metrics/usage")
    assert {dict(labels)["table"] for _, labels in samples} == {"sessions"}
    assert len(samples) == 3


async def test_a_first_request_is_exposed_after_the_baseline_period():
    async with run_gateway({"metering": {"first_sample_seconds": 60}}) as gateway:
        await gateway.get("k")
        gateway.clock.advance(59_999)
        assert series(await scrape(gateway), USAGE, **SESSIONS) == [0.0] * 3
        gateway.clock.advance(1)
        assert total(await scrape(gateway), REQUESTS, **SESSIONS) == 1


async def test_a_drain_ends_the_baseline_period():
    async with run_gateway({"metering": {"first_sample_seconds": 60}}) as gateway:
        await gateway.get("k")
        gateway.app.drain.begin()
        assert total(await scrape(gateway), REQUESTS, **SESSIONS) == 1


async def test_requests_beyond_the_cap_on_series_are_counted():
    async with run_gateway({"metering": {"max_series": 60}}) as gateway:
        for token in (TABLE_TOKEN, TABLE_TOKEN, OTHER_TABLE_TOKEN):
            await gateway.get("k", token=token)
        samples = await scrape(gateway)
    assert total(samples, REQUESTS) == 3
    assert total(samples, "kvs_usage_overflow_total") == total(samples, REQUESTS, org="_other") == 1
    assert sum(name.startswith("kvs_usage_") for name, _ in samples) <= 60


async def test_an_idle_series_is_gone_after_the_configured_time():
    async with run_gateway({"metering": {"idle_seconds": 60}}) as gateway:
        await gateway.get("k")
        await scrape(gateway)
        gateway.clock.advance(60_000)
        await gateway.app.data.usage.drop_idle()
        assert series(await scrape(gateway), USAGE) == []
