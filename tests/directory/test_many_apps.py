"""A thousand apps in real stores: the store operations of a request, and the delay of changes.

`lab/faults/test_many_apps.py` measures the delay with 100,000 apps and separate processes.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from backends.clock import SystemClock
from gateway.directory.records import APPS as RECORDS_OF_APPS
from gateway.directory.records import TOKENS
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
from tests.support.dynamodb import REGION, Ministack, ScriptedEndpoint
from tests.support.dynamodb.endpoint import Call
from tests.support.gateway import Gateway, run_gateway
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.wire import until

APPS = 1000
BESIDE_PER_SECOND = 12
"""Commands that two replicas send at rest, whatever the number of apps."""
IN_SCRIPTS = {
    *("getex", "incrby", "pttl", "pexpire"),
    *("hget", "hset", "hincrby", "zadd", "zrangebyscore", "zcard", "zrangebylex"),
}
"""Commands called by scripts (steps and pages); Redis counts them together with those of clients."""
MISSES = "kvs_directory_cache_misses_total"


@asynccontextmanager
async def _replicas(store: dict[str, Any]) -> AsyncIterator[tuple[Gateway, Gateway]]:
    clock = SystemClock()
    changes = {"store": store}
    async with run_gateway(changes, clock=clock) as here, run_gateway(changes, clock=clock) as there:
        for gateway in (here, there):
            await until(lambda health=gateway.app.ops.health: health.status.value == "ready")
        yield here, there


@pytest.fixture
async def on_redis():
    apps = managed_apps(APPS)
    with RedisServer() as server, deadlines_of():
        async with opened_redis(server.url) as store:
            await write_apps(store.records, apps)
        async with _replicas({"kind": "redis", "url": server.url}) as (here, there):
            yield server, here, there, apps


@pytest.fixture(scope="module")
def filled_engine():
    """An engine, the name of its table, and its apps."""
    apps, table = managed_apps(APPS), new_table()

    async def make_table() -> None:
        async with opened_dynamodb(engine.endpoint_url, table):
            pass

    with suited_to_engines():
        engine = Ministack.shared()
        asyncio.run(make_table())
        write_apps_into_dynamodb(engine.observer, table, apps)
        yield engine, table, apps


@pytest.fixture
async def on_dynamodb(filled_engine):
    engine, table, apps = filled_engine
    async with ScriptedEndpoint(engine.endpoint_url) as endpoint:
        store = {"kind": "dynamodb", "table": table, "region": REGION, "endpoint_url": endpoint.endpoint_url}
        async with _replicas(store) as (here, there):
            yield endpoint, here, there, apps


async def _make_known(gateway: Gateway, apps: list[ManagedApp]) -> float:
    """Calls them until no call causes a lookup, and returns the number of lookups."""
    misses = -1.0
    while misses != (now := (await gateway.metrics())[MISSES]):
        misses = now
        await _call_each(gateway, apps)
    return misses


async def _call_each(gateway: Gateway, apps: list[ManagedApp]) -> None:
    for app in apps:
        assert (await gateway.get("k", token=app.token)).status == 200
        assert (await gateway.put("k", 1, token=app.token)).status == 200


def _commands(server: RedisServer) -> Counter[str]:
    """Returns the number of calls of each command, by clients and in scripts."""
    lines = server.command("INFO", "commandstats").decode().splitlines()
    stats = (line.removeprefix("cmdstat_").split(":calls=") for line in lines if ":calls=" in line)
    return Counter({name: int(rest.partition(",")[0]) for name, rest in stats})


def _pieces(calls: list[Call]) -> Counter[tuple[str, str]]:
    """Counts the operations by the kind of item that they name."""
    items = [call.payload.get("Key") or call.payload.get("Item") or {} for call in calls]
    kinds = [item["pk"]["S"][:2] if item else "" for item in items]
    return Counter((call.operation, kind) for call, kind in zip(calls, kinds, strict=True))


def _records_of_apps(calls: list[Call]) -> list[str]:
    """Returns the names of the app and token records read; replicas coordinate by other records."""
    keys = [call.payload["Key"] for call in calls if "Key" in call.payload]
    names = [key["sk"]["S"] for key in keys if key["pk"]["S"].startswith("r#")]
    return [name for name in names if name.startswith((RECORDS_OF_APPS, TOKENS))]


async def test_a_request_of_a_known_token_is_one_command_of_redis_whatever_the_number_of_tables(on_redis):
    server, here, _, apps = on_redis
    called, rounds = apps[:50], 5
    misses = await _make_known(here, called)
    before, began = _commands(server), time.monotonic()
    for _ in range(rounds):
        await _call_each(here, called)
    spent, seconds = _commands(server) - before, time.monotonic() - began
    assert (await here.metrics())[MISSES] == misses
    sent = sum(calls for name, calls in spent.items() if name not in IN_SCRIPTS)
    beside = sent - 2 * len(called) * rounds
    assert 0 <= beside <= BESIDE_PER_SECOND * (seconds + 1)


async def test_a_request_of_a_known_token_costs_dynamodb_its_data_and_its_counter_alone(on_dynamodb):
    endpoint, here, _, apps = on_dynamodb
    called, rounds = apps[:10], 4
    await _make_known(here, called)
    endpoint.calls.clear()
    for _ in range(rounds):
        await _call_each(here, called)
    spent, each = _pieces(endpoint.calls), len(called) * rounds
    assert spent["UpdateItem", "w#"] == 2 * each
    assert (spent["GetItem", "e#"], spent["PutItem", "e#"]) == (each, each)
    assert _records_of_apps(endpoint.calls) == []


async def test_changes_take_effect_on_another_replica_within_two_seconds_on_redis(on_redis):
    _, here, there, apps = on_redis
    async with calls_in_turn([here, there], apps[100:], per_second=50) as statuses:
        late = await change_in_turn(here, there, apps[:16], per_second=20)
    assert late == []
    assert set(statuses) == {200}


async def test_changes_take_effect_on_another_replica_within_two_seconds_on_dynamodb(on_dynamodb):
    _, here, there, apps = on_dynamodb
    async with calls_in_turn([here, there], apps[100:], per_second=10) as statuses:
        late = await change_in_turn(here, there, apps[40:48], per_second=4)
    assert late == []
    assert set(statuses) == {200}
