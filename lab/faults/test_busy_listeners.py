"""Clients that repeat the longest lists and scrapes do not keep calls waiting."""

import asyncio
import time

from lab.faults.fleet import Fleet
from tests.backends.redis.conformance import opened_redis
from tests.support.apps import managed_apps, write_apps
from tests.support.evidence import note
from tests.support.load import Load
from tests.support.process import PATIENT
from tests.support.redis import RedisServer

APPS = 1_000
CLIENTS = 16
SECONDS = 2


async def test_calls_are_served_beside_busy_clients_of_other_listeners(tmp_path):
    with RedisServer() as server:
        async with opened_redis(server.url) as store:
            await write_apps(store.records, managed_apps(APPS))
        changes = {"store": {"kind": "redis", "url": server.url}}
        async with Fleet(tmp_path, [changes], module=PATIENT) as fleet:
            (gateway,) = fleet.gateways
            async with Load([gateway], clients=2, per_second=50) as load:
                statuses = await _repeat(
                    lambda: gateway.manage("GET", "/v1/orgs"), lambda: gateway.ask_ops("/metrics")
                )
            await load.check_all()
    note(tried=len(statuses), answered=len(load.answers))
    assert set(statuses) == {200}
    assert load.lies == []
    assert {answer.status for answer in load.answers} == {200}
    quickest_half = sorted(answer.seconds for answer in load.answers)[: len(load.answers) // 2]
    assert quickest_half[-1] < 0.05 + load.held_up + fleet.watch.own_lag


async def _repeat(*requests) -> list[int]:
    """Returns the statuses of all answers to as many clients of each request as are served concurrently."""
    ends_at, statuses = time.monotonic() + SECONDS, []

    async def repeat(ask) -> None:
        while time.monotonic() < ends_at:
            statuses.append((await ask()).status)

    await asyncio.gather(*(repeat(ask) for ask in requests for _ in range(CLIENTS)))
    return statuses
