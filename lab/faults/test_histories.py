"""Histories of a key that clients of two replicas see are linearizable, whatever breaks meanwhile.

A refused or unanswered write may apply at any later time or never; everything else is as it was answered.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import cycle

import pytest

from lab.faults.fleet import Fleet
from lab.faults.histories import Clients
from tests.support.dynamodb import ENVIRONMENT, REGION, Ministack, ScriptedEndpoint
from tests.support.dynamodb.answers import CLOSED, GARBAGE, RESET, THROTTLED, Answer, refusal
from tests.support.dynamodb.endpoint import after_it_was_applied
from tests.support.evidence import note_fault
from tests.support.link import Link
from tests.support.redis import RedisServer

QUICK = pytest.param(600, 300, id="600 operations")
FULL = pytest.param(10_000, 700, id="10,000 operations", marks=pytest.mark.heavy)
SEED = 20261120


def redis_store(port: int) -> dict:
    return {"store": {"kind": "redis", "url": f"redis://127.0.0.1:{port}/0"}}


def dynamodb_store(url: str) -> dict:
    store = {"kind": "dynamodb", "table": "kvs", "region": REGION, "endpoint_url": url, "create_table": True}
    return {"store": store}


Fault = Callable[[], Awaitable[None]]


async def judged(fleet: Fleet, operations: int, per_second: float, *faults: Fault) -> Clients:
    """Run clients, and one fault after the other meanwhile; every history must be explained."""
    clients = Clients(fleet.gateways, seed=SEED, per_second=per_second)
    dice = random.Random(SEED)
    running = asyncio.ensure_future(clients.run(operations))
    while faults and not running.done():
        await asyncio.wait([running], timeout=0.5)
        if not running.done():
            await dice.choice(faults)()
    await running
    assert clients.violations() == []
    return clients


@pytest.mark.parametrize(("operations", "per_second"), [QUICK, FULL])
async def test_through_two_replicas_on_redis(tmp_path, operations, per_second):
    with RedisServer() as server:
        async with Fleet(tmp_path, [redis_store(server.port)] * 2) as fleet:
            clients = await judged(fleet, operations, 2 * per_second)
    assert set(clients.statuses) == {200, 412}
    assert sum(clients.statuses.values()) == operations


@pytest.mark.parametrize(("operations", "per_second"), [FULL])
async def test_through_two_replicas_on_dynamodb(tmp_path, operations, per_second):
    with Ministack() as engine:
        store = dynamodb_store(engine.endpoint_url)
        async with Fleet(tmp_path, [store] * 2, ENVIRONMENT) as fleet:
            clients = await judged(fleet, operations, per_second)
    assert set(clients.statuses) <= {200, 412, 503}
    assert clients.served > 0.98 * operations


@pytest.mark.parametrize(("operations", "per_second"), [QUICK, FULL])
async def test_on_redis_with_links_that_break_and_a_server_that_pauses_or_dies(
    tmp_path, operations, per_second
):
    async with AsyncExitStack() as opened:
        server = opened.enter_context(RedisServer(appendonly="yes", appendfsync="always"))
        links = [await opened.enter_async_context(Link(server.port)) for _ in range(2)]

        async def pause() -> None:
            server.stop()
            await asyncio.sleep(0.4)
            server.resume()

        async def die() -> None:
            server.kill()
            await asyncio.to_thread(server.start)

        async def fall_silent() -> None:
            links[0].hold()
            await asyncio.sleep(0.35)
            links[0].release()

        async def reset() -> None:
            links[1].reset()

        fleet = await opened.enter_async_context(Fleet(tmp_path, [redis_store(each.port) for each in links]))
        clients = await judged(fleet, operations, per_second, pause, die, fall_silent, reset)
    assert set(clients.statuses) == {200, 412, 503}
    assert clients.served > 0.3 * operations


@pytest.mark.parametrize(("operations", "per_second"), [FULL])
async def test_on_redis_with_replicas_that_are_killed_and_replaced(tmp_path, operations, per_second):
    with RedisServer() as server:
        async with Fleet(tmp_path, [redis_store(server.port)] * 2) as fleet:
            turns = cycle(range(2))

            async def kill_one() -> None:
                number = next(turns)
                fleet.kill(number)
                await fleet.replace(number)

            clients = await judged(fleet, operations, per_second, kill_one)
    assert set(clients.statuses) == {200, 412, 0}


def _lost(_: Answer) -> Answer:
    note_fault("answer lost")
    return RESET


@pytest.mark.parametrize(("operations", "per_second"), [QUICK, FULL])
async def test_on_dynamodb_with_lost_answers_throttling_and_garbage(tmp_path, operations, per_second):
    with Ministack() as engine:
        async with (
            ScriptedEndpoint(engine.endpoint_url) as endpoint,
            Fleet(tmp_path, [dynamodb_store(endpoint.endpoint_url)] * 2, ENVIRONMENT) as fleet,
        ):
            faults = [THROTTLED, RESET, CLOSED, GARBAGE, refusal("InternalServerError")]
            spoiled = [after_it_was_applied(_lost), after_it_was_applied(Answer.with_a_flipped_bit)]
            endpoint.scatter(*faults, *spoiled, probability=0.05, seed=SEED)
            clients = await judged(fleet, operations, per_second)
    assert set(clients.statuses) == {200, 412, 503}
    assert clients.served > 0.6 * operations
