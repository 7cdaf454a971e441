"""Two replicas, a region in a real store, changes under load: all are in force in time."""

import asyncio
from typing import Any

import pytest

from lab.faults.fleet import Fleet
from tests.backends.dynamodb.conformance import new_table, opened_dynamodb, suited_to_engines
from tests.backends.redis.conformance import opened_redis
from tests.support.apps import (
    ManagedApp,
    calls_in_turn,
    change_in_turn,
    managed_apps,
    write_apps,
    write_apps_into_dynamodb,
)
from tests.support.dynamodb import ENVIRONMENT, REGION, Ministack
from tests.support.evidence import note
from tests.support.process import PATIENT
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of

CHANGES_PER_SECOND = 20
CHANGES_OF_THE_ENGINE = 5
"""A change and its judgement are some 20 requests, and the engine is one process of Python."""
LASTING_SECONDS = 15
APPS_IN_REDIS = 100_000
APPS_IN_DYNAMODB = 10_000
"""It takes a minute and a half for ten times as many."""


@pytest.fixture
async def region_in_redis():
    apps = managed_apps(APPS_IN_REDIS)
    with RedisServer() as server:
        with deadlines_of():
            async with opened_redis(server.url) as store:
                await write_apps(store.records, apps)
        yield {"kind": "redis", "url": server.url}, apps


@pytest.fixture
async def region_in_dynamodb():
    apps, table = managed_apps(APPS_IN_DYNAMODB), new_table()
    with suited_to_engines(), Ministack() as engine:
        async with opened_dynamodb(engine.endpoint_url, table):
            await asyncio.to_thread(write_apps_into_dynamodb, engine.observer, table, apps)
        store = {
            "kind": "dynamodb",
            "table": table,
            "region": REGION,
            "endpoint_url": engine.endpoint_url,
        }
        yield store, apps


async def _judge(
    folder, store: dict[str, Any], apps: list[ManagedApp], *, changes: float, calls: float
) -> None:
    """Every change is asked for at one replica, and judged at the other, where the app was just served."""
    changed = round(changes * LASTING_SECONDS)
    async with Fleet(folder, [{"store": store}] * 2, env=ENVIRONMENT, module=PATIENT) as fleet:
        here, there = fleet.gateways
        async with calls_in_turn(fleet.gateways, apps[changed:], per_second=calls) as statuses:
            late = await change_in_turn(here, there, apps[:changed], per_second=changes)
    note(tried=changed, answered=len(statuses))
    assert late == []
    assert set(statuses) == {200}


async def test_changes_in_a_region_of_100000_apps_in_redis_take_effect_in_time(tmp_path, region_in_redis):
    await _judge(tmp_path, *region_in_redis, changes=CHANGES_PER_SECOND, calls=200)


async def test_changes_in_a_region_in_dynamodb_take_effect_in_time(tmp_path, region_in_dynamodb):
    await _judge(tmp_path, *region_in_dynamodb, changes=CHANGES_OF_THE_ENGINE, calls=20)
