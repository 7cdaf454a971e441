"""Concurrent registrations of one app by several replicas, on each store: one wins completely."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from backends import MemorySettings
from backends.clock import SystemClock
from backends.memory.backend import MemoryBackend
from gateway.directory.declared import DeclaredApps
from gateway.directory.errors import AppExists
from gateway.directory.parts import Defaults, directory_parts
from gateway.directory.records import AppRecord
from tests.backends.dynamodb.conformance import new_table, opened_dynamodb, suited_to_engines
from tests.backends.redis.conformance import opened_redis
from tests.directory.region import CACHE_TTL_MS, SHOP, STALE_TTL_MS
from tests.support.dynamodb import Ministack
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of

AT_ONCE = 8


@asynccontextmanager
async def on_memory():
    yield MemoryBackend(MemorySettings(), SystemClock())


@asynccontextmanager
async def on_redis():
    with RedisServer() as server, deadlines_of():
        async with opened_redis(server.url) as store:
            yield store


@asynccontextmanager
async def on_dynamodb():
    with suited_to_engines():
        engine = Ministack.shared()
        async with opened_dynamodb(engine.endpoint_url, new_table()) as store:
            yield store


@pytest.fixture(params=[on_memory, on_redis, on_dynamodb], ids=lambda store: store.__name__)
async def directories(request):
    """Returns the directories of several replicas on one store."""
    async with request.param() as store:
        yield [_directory(store) for _ in range(AT_ONCE)]


def _directory(store):
    return directory_parts(
        DeclaredApps([], 600),
        store.records,
        store.tables,
        SystemClock(),
        defaults=Defaults(requests_per_minute=600, max_tables=3),
        fresh_ms=CACHE_TTL_MS,
        stale_ms=STALE_TTL_MS,
    ).directory


def _app(limit: int) -> AppRecord:
    return AppRecord(SHOP, "api", active=False, requests_per_minute=limit, max_tables=limit)


async def test_one_of_many_concurrent_replacements_wins_completely(directories):
    replaced = await asyncio.gather(
        *(directory.register(_app(limit)) for limit, directory in enumerate(directories, 1))
    )
    assert [is_new for _, is_new in replaced].count(True) == 1
    app = await directories[0].find(SHOP)
    assert app.requests_per_minute == app.max_tables


async def test_one_of_many_conditional_registrations_creates_the_app_the_others_change_nothing(
    directories,
):
    outcomes = await asyncio.gather(
        *(
            directory.register(_app(limit), only_if_new=True)
            for limit, directory in enumerate(directories, 1)
        ),
        return_exceptions=True,
    )
    (made,) = [outcome[0] for outcome in outcomes if isinstance(outcome, tuple)]
    assert [type(outcome) for outcome in outcomes].count(AppExists) == AT_ONCE - 1
    app = await directories[0].find(SHOP)
    assert app.requests_per_minute == app.max_tables == made.max_tables
