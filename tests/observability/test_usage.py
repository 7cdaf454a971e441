"""Usage is counted exactly, by outcome and in bytes of bodies."""

import json

import pytest
import yaml

from backends.memory.backend import MemoryBackend
from backends.settings import MemorySettings
from gateway.app import build_app
from gateway.config.loading import parse
from gateway.directory.managed import ManagedApps
from gateway.directory.records import AppRecord
from gateway.domain.model import Environment
from tests.support.config import BASE, OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import Gateway, run_gateway
from tests.support.scraping import (
    REQUEST_BYTES,
    REQUESTS,
    RESPONSE_BYTES,
    USAGE,
    eventually,
    hanging_call,
    scrape,
    series,
    total,
)
from tests.support.stores import Faults

SESSIONS = {"org": "acme", "app": "shop", "env": "production", "table": "sessions"}
KEY = {"key": "k"}
OUTCOMES = {"ok", "not_found", "invalid", "rate_limited", "error"}


async def assert_counted(gateway: Gateway, operation: str, outcome: str, times: int = 1) -> None:
    """So many calls of this operation and outcome, and no others at all."""
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
    [{"signer": None}, {"token": None}, {"token": "nobody"}, {"path": "/v1/list"}],
    ids=["unsigned", "no token", "unknown token", "no route"],
)
async def test_what_was_not_charged_is_not_metered(gateway, options):
    await gateway.get("k", **options)
    assert total(await scrape(gateway), REQUESTS) == 0


async def test_a_call_that_is_cut_off_is_an_error(gateway):
    call = await hanging_call(gateway)
    gateway.app.drain.stop_calls()
    assert (await call).error == "shutting_down"
    await assert_counted(gateway, "get", "error")


@pytest.mark.parametrize("fault", ["charge", "get"])
async def test_a_call_that_nobody_foresaw_is_an_error(gateway, fault):
    gateway.faults.fail, gateway.faults.error = {fault}, RuntimeError
    assert (await gateway.get("k")).error == "internal_error"
    await assert_counted(gateway, "get", "error")


async def test_a_call_whose_row_was_dropped_meanwhile_is_counted_all_the_same(gateway):
    call = await hanging_call(gateway)
    gateway.clock.advance(3_600_000)
    gateway.app.data.usage.drop_idle()
    assert series(await scrape(gateway), USAGE, **SESSIONS) == []
    gateway.faults.gate.set()
    await call
    await assert_counted(gateway, "get", "not_found")


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


async def test_tables_are_counted_apart(gateway):
    await gateway.get("k")
    await gateway.get("k", token=OTHER_TABLE_TOKEN)
    await gateway.get("k", token=OTHER_TABLE_TOKEN)
    samples = await scrape(gateway)
    assert total(samples, REQUESTS, table="sessions") == 1
    assert total(samples, REQUESTS, table="carts") == 2


async def test_21_series_of_every_declared_table_are_shown_at_0_from_the_start(gateway):
    samples = await scrape(gateway)
    for table in ("sessions", "carts"):
        assert series(samples, USAGE, **(SESSIONS | {"table": table})) == [0.0] * 21
    labels = {dict(carried).get("outcome") for (name, carried) in samples if name == REQUESTS}
    assert labels == OUTCOMES


async def test_declared_tables_are_shown_at_0_though_the_store_is_down():
    faults = Faults()
    faults.fail = {"*"}
    async with run_gateway(faults=faults) as gateway:
        assert series(await scrape(gateway), USAGE) == [0.0] * 42


async def test_21_series_of_a_managed_table_are_shown_at_0_after_its_creation(gateway):
    await gateway.manage("PUT", "/v1/orgs/acme/apps/new", {"type": "api"})
    await gateway.manage("POST", "/v1/orgs/acme/apps/new/services/kvs/tables", {"name": "t"})
    labels = {"org": "acme", "app": "new", "env": "production", "table": "t"}

    async def standing() -> list[float]:
        return series(await scrape(gateway), USAGE, **labels)

    assert await eventually(standing) == [0.0] * 21


async def test_21_series_of_every_managed_table_are_shown_at_0_after_a_restart(clock):
    store = MemoryBackend(MemorySettings(), clock)
    apps = ManagedApps(store.records, clock, 3)
    environment = Environment("acme", "old", "production")
    await apps.register(AppRecord(environment, "api", active=False))
    for name in ("t", "u"):
        await apps.create_table(environment, name, None)

    async def open_again(*_: object) -> MemoryBackend:
        return store

    app = await build_app(parse(yaml.safe_dump(BASE | {"apps": []}), {}), clock, open_again)
    async with app.replica.running():

        async def standing() -> bool:
            return len(app.data.usage.rows()) == 2

        assert await eventually(standing)
    assert [row.requests() for row in app.data.usage.rows()] == [0, 0]


async def test_a_capped_gateway_counts_what_finds_no_series():
    async with run_gateway({"metering": {"max_series": 63}}) as gateway:
        for token in (TABLE_TOKEN, TABLE_TOKEN, OTHER_TABLE_TOKEN):
            await gateway.get("k", token=token)
        samples = await scrape(gateway)
    assert total(samples, REQUESTS) == 3
    assert total(samples, "kvs_usage_overflow_total") == total(samples, REQUESTS, org="_other") == 1
    assert sum(name.startswith("kvs_usage_") for name, _ in samples) <= 63


async def test_an_idle_series_is_gone_after_the_configured_time():
    async with run_gateway({"metering": {"idle_seconds": 60}}) as gateway:
        await gateway.get("k")
        gateway.app.data.usage.drop_idle()
        gateway.clock.advance(60_000)
        gateway.app.data.usage.drop_idle()
        assert series(await scrape(gateway), USAGE) == []
