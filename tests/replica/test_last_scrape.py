"""Whether a drain waits for a last scrape. The grace is longer than any test."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.support.gateway import run_gateway
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import until

LONG = {"shutdown": {"drain_seconds": 0, "grace_seconds": 3600}}
TWO_MINUTES_MS = 120_000


@asynccontextmanager
async def draining(gateway, lines):
    """A drain that has come to its last step, or beyond it."""
    drain = asyncio.create_task(gateway.replica.drain())
    await until(lambda: "last scrape" in str(lines("kvs.lifecycle")))
    await asyncio.sleep(0)
    yield drain
    drain.cancel()


async def ended(gateway):
    """A drain that waits for nobody."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        await gateway.replica.drain()


@pytest.fixture
async def gateway():
    async with run_gateway(LONG) as running:
        yield running


async def test_a_replica_that_was_never_scraped_does_not_wait(gateway, lines):
    await gateway.put("k", "value")
    gateway.clock.advance(TWO_MINUTES_MS + 1)
    await ended(gateway)
    assert lines("kvs.lifecycle")[-1]["message"].startswith("usage was never scraped")


async def test_a_replica_that_is_too_young_to_have_been_scraped_waits(gateway, lines):
    gateway.clock.advance(TWO_MINUTES_MS)
    async with draining(gateway, lines) as drain:
        assert not drain.done()
        await gateway.ask_ops("/metrics/usage")
        await drain


async def test_a_longer_scrape_interval_lengthens_the_wait_for_a_first_scrape(lines):
    async with run_gateway({**LONG, "metering": {"first_sample_seconds": 300}}) as gateway:
        gateway.clock.advance(5 * TWO_MINUTES_MS)
        async with draining(gateway, lines) as drain:
            assert not drain.done()
            gateway.clock.advance(1)
            await gateway.ask_ops("/metrics/usage")
            await drain


@pytest.mark.parametrize("path", ["/metrics", "/metrics/usage"])
async def test_a_replica_that_was_scraped_once_waits_however_long_ago_that_was(gateway, lines, path):
    await gateway.ask_ops(path)
    gateway.clock.advance(100 * TWO_MINUTES_MS)
    async with draining(gateway, lines) as drain:
        assert not drain.done()
        await gateway.ask_ops(path)
        await drain


async def test_a_scrape_without_the_tenant_series_is_none(gateway, lines):
    await gateway.ask_ops("/metrics/service")
    gateway.clock.advance(TWO_MINUTES_MS + 1)
    await ended(gateway)
    assert lines("kvs.lifecycle")[-1]["message"].startswith("usage was never scraped")


async def test_calls_in_flight_are_waited_for_though_nobody_scrapes(gateway):
    gateway.clock.advance(TWO_MINUTES_MS + 1)
    gateway.faults.gate.clear()
    call = asyncio.create_task(gateway.get("k"))
    await until(lambda: gateway.faults.count("charge") == 1)
    drain = asyncio.create_task(ended(gateway))
    await until(gateway.app.drain.begun.is_set)
    gateway.faults.gate.set()
    assert (await call).status == 200
    await drain
