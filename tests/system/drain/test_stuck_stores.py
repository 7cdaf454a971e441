"""A call whose store is stuck at SIGTERM is answered or refused within the grace."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest

from tests.backends.dynamodb.scripted import TABLE_NAME, prepared_endpoint
from tests.support.dynamodb import ENVIRONMENT, REGION
from tests.support.dynamodb.answers import answer
from tests.support.link import Link
from tests.support.load import client_of
from tests.support.redis import RedisServer
from tests.support.replicas import until_ready
from tests.support.wire import read_reply, signed_call, until

EMPTY = answer()
STUCK_SECONDS = 10


@pytest.fixture
def start_clean(start):
    """A gateway in a process of its own, whose log has no fault except the store's."""
    started = []

    async def start_one(**changes):
        started.append(await asyncio.to_thread(start, signature={"mode": "required"}, **changes))
        return started[-1]

    yield start_one
    for process in started:
        log = process.log.read_text()
        assert "Traceback" not in log
        errors = [line for line in log.splitlines() if '"level": "error"' in line]
        assert [line for line in errors if '"dependency is down"' not in line] == []


class Sent:
    """A call that was sent on a connection of its own."""

    def __init__(self, gateway) -> None:
        self._gateway = gateway

    async def __aenter__(self):
        self._reader, self._writer = await self._gateway.connect()
        self._writer.write(signed_call(self._gateway, "get", b'{"key":"k"}', extra=()))
        return self

    async def reply(self):
        return await read_reply(self._reader, 8)

    async def __aexit__(self, *_):
        self._writer.transport.abort()


@pytest.fixture
async def link():
    with RedisServer() as server:
        async with Link(server.port) as link:
            yield link


async def until_served(gateway) -> None:
    async with asyncio.timeout(10):
        while (await gateway.get("k")).status != 200:  # noqa: ASYNC110 - what is waited for is elsewhere
            await asyncio.sleep(0.02)


async def ended_after_a_scrape(process, gateway) -> None:
    """Only the replica knows which scrape is the last one."""
    with suppress(aiohttp.ClientError):
        while True:
            await gateway.ask_ops("/metrics/usage")
            await asyncio.sleep(0.05)
    assert await asyncio.to_thread(process.wait) == 0


@asynccontextmanager
async def stuck_dynamodb(start_one, grace_seconds: float):
    """Reads of entries wait; everything else is answered."""
    async with prepared_endpoint() as endpoint:
        store = {"kind": "dynamodb", "table": TABLE_NAME, "region": REGION}
        process = await start_one(
            env=ENVIRONMENT,
            store={**store, "endpoint_url": endpoint.endpoint_url},
            shutdown={"drain_seconds": 0, "grace_seconds": grace_seconds},
        )
        async with client_of(process) as gateway:
            await until_ready(gateway)
            await until_served(gateway)
            endpoint.calls.clear()
            endpoint.always("GetItem", EMPTY.late(STUCK_SECONDS))
            yield process, gateway, endpoint


async def test_redis_falls_silent_as_the_replica_drains_and_answers_late(start_clean, link):
    process = await start_clean(
        store={"kind": "redis", "url": f"redis://127.0.0.1:{link.port}/0"},
        shutdown={"drain_seconds": 2, "grace_seconds": 5},
    )
    async with client_of(process) as gateway:
        await until_ready(gateway)
        await until_served(gateway)
        link.hold()
        async with Sent(gateway) as call:
            process.signal()
            reply = await call.reply()
            assert (reply.status, reply.error, reply.closes) == (503, "storage_unavailable", True)
        link.release()
        await until_served(gateway)
        await ended_after_a_scrape(process, gateway)


async def test_dynamodb_is_stuck_for_longer_than_the_grace(start_clean):
    async with stuck_dynamodb(start_clean, grace_seconds=1) as (process, gateway, endpoint):
        began = time.monotonic()
        async with Sent(gateway) as call:
            await until(lambda: endpoint.of("GetItem"))
            process.signal()
            reply = await call.reply()
            assert (reply.status, reply.error, reply.closes) == (503, "shutting_down", True)
        assert await asyncio.to_thread(process.wait) == 0
        assert time.monotonic() - began < 3


async def test_dynamodb_is_stuck_for_less_than_the_grace(start_clean):
    async with stuck_dynamodb(start_clean, grace_seconds=6) as (process, gateway, endpoint):
        async with Sent(gateway) as call:
            await until(lambda: endpoint.of("GetItem"))
            process.signal()
            reply = await call.reply()
            assert (reply.status, reply.error, reply.closes) == (503, "storage_unavailable", True)
        await ended_after_a_scrape(process, gateway)
