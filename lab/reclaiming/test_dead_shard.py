"""A master of a cluster is stopped: the tables of the others are reclaimed, and its own when it is back."""

import asyncio

import pytest

from gateway.directory.declared import DeclaredApps
from gateway.directory.parts import Defaults, directory_parts
from gateway.directory.records import AppRecord
from gateway.domain.model import Environment
from tests.backends.redis.conformance import PREFIX, opened_redis
from tests.support import entries
from tests.support.clock import FakeClock
from tests.support.redis import Cluster
from tests.support.redis.deadlines import deadlines_of
from tests.support.redis.slots import node_id
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS

APPS = [Environment("acme", f"app-{number}", "production") for number in range(24)]
"""So many that each master has some: an app environment lies on one."""

FRESH_MS, STALE_MS = 60_000, 600_000
RETRY_MS, SLOWEST_CALL_MS = 60_000, 30_000


@pytest.fixture
def cluster():
    with Cluster(cluster_require_full_coverage="no") as running:
        yield running


@pytest.fixture
async def store(cluster):
    with deadlines_of(2.0):
        async with opened_redis(cluster.url) as store:
            yield store


@pytest.fixture
def clock():
    """The clock of the directory, which stands still: no intent grows old on a slow machine."""
    return FakeClock()


@pytest.fixture
async def parts(store, clock):
    return directory_parts(
        DeclaredApps([], 600),
        store.records,
        store.tables,
        clock,
        defaults=Defaults(requests_per_minute=600, max_tables=3),
        fresh_ms=FRESH_MS,
        stale_ms=STALE_MS,
    )


async def _fill(store, parts) -> None:
    """Creates apps, each with a table and an entry in it."""
    for environment in APPS:
        await parts.directory.register(AppRecord(environment, "api", active=False))
        _, token = await parts.directory.create_table(environment, "t", None)
        table = (await parts.bindings.resolve(token.encode())).table
        await entries.put(store, table, "k", entries.Entry(b"1", None))


def _tables_on(nodes) -> list[int]:
    return [len(node.command("KEYS", f"{PREFIX}:t:*")) for node in nodes]


def _is_missed(name, witness) -> bool:
    lines = witness.command("CLUSTER", "NODES").splitlines()
    return any(line.startswith(name) and b"master,fail " in line for line in lines)


async def _stop_a_master(cluster):
    """Stops one that does not hold the directory; returns it and the others."""
    holder = next(node for node in cluster.nodes if node.command("KEYS", "*:records"))
    victim = next(node for node in cluster.nodes if node is not holder)
    living = [node for node in cluster.nodes if node is not victim]
    name = node_id(victim)
    victim.stop()
    await asyncio.to_thread(wait_for, lambda: _is_missed(name, living[0]), "nobody misses the master")
    return victim, living


async def test_a_stopped_master_delays_its_own_tables_and_no_others(cluster, store, parts, clock):
    await _fill(store, parts)
    assert min(_tables_on(cluster.nodes)) > 0
    victim, living = await _stop_a_master(cluster)
    for environment in APPS:
        await parts.directory.remove(environment)
    await parts.reclaimer.run()
    assert _tables_on(living) == [0, 0]
    victim.resume()
    await asyncio.to_thread(cluster.wait_until_whole)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while any(_tables_on(cluster.nodes)):
            clock.advance(RETRY_MS)
            await parts.reclaimer.run()
    clock.advance(SLOWEST_CALL_MS + FRESH_MS + STALE_MS)
    await parts.reclaimer.run()
    assert await store.records.page("reclaim/", after="", limit=1) == []
