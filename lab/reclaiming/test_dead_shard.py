"""A master of a cluster is stopped: the tables of the others are reclaimed, and its own when it is back."""

import asyncio

import pytest

from backends.interface import Entry, Keyspace
from gateway.directory.declared import DeclaredApps
from gateway.directory.parts import Defaults, directory_parts
from gateway.directory.records import AppRecord
from gateway.domain.model import Environment
from tests.backends.redis.conformance import PREFIX, opened_redis
from tests.support.clock import FakeClock
from tests.support.redis import Cluster
from tests.support.redis.deadlines import deadlines_of
from tests.support.redis.slots import node_id
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS

SHOP = Environment("acme", "shop", "production")
ENTRIES = 60
FRESH_MS, STALE_MS = 60_000, 600_000
STALLED_MS, SLOWEST_CALL_MS = 60_000, 30_000


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
    declared, defaults = DeclaredApps([], 600), Defaults(requests_per_minute=600, max_tables=3)
    parts = directory_parts(
        declared,
        store.records,
        store.entries,
        clock,
        defaults=defaults,
        fresh_ms=FRESH_MS,
        stale_ms=STALE_MS,
    )
    await parts.directory.register(AppRecord(SHOP, "api", active=False))
    return parts


async def _table(store, parts, name: str, keys: int = ENTRIES) -> Keyspace:
    """With entries on every master that answers."""
    _, token = await parts.directory.create_table(SHOP, name, None)
    keyspace = (await parts.bindings.resolve(token.encode())).table.keyspace
    await _fill(store, keyspace, keys)
    return keyspace


async def _fill(store, keyspace: Keyspace, keys: int = ENTRIES) -> None:
    puts = (store.entries.put(keyspace, f"key {number}", Entry(b"1", None)) for number in range(keys))
    await asyncio.gather(*puts, return_exceptions=True)


def _entries_on(nodes) -> list[int]:
    return [len(node.command("KEYS", f"{PREFIX}:e:*")) for node in nodes]


def _is_missed(name, witness) -> bool:
    lines = witness.command("CLUSTER", "NODES").splitlines()
    return any(line.startswith(name) and b"master,fail " in line for line in lines)


async def _purged(store) -> list[bool]:
    """Attempts of each intent."""
    intents = await store.records.page("reclaim/", after="", limit=10)
    return [b'"is_purged":true' in record.document for _, record in intents]


async def _stop_a_master(cluster):
    """Stops one that does not hold the directory; returns it and the others."""
    holder = next(node for node in cluster.nodes if node.command("KEYS", "*:records"))
    victim = next(node for node in cluster.nodes if node is not holder)
    living = [node for node in cluster.nodes if node is not victim]
    assert min(_entries_on(cluster.nodes)) > 0
    name = node_id(victim)
    victim.stop()
    await asyncio.to_thread(wait_for, lambda: _is_missed(name, living[0]), "nobody misses the master")
    return victim, living


async def test_late_writes_on_other_masters_are_given_back_while_one_is_stopped(cluster, store, parts, clock):
    keyspace = await _table(store, parts, "before")
    victim, living = await _stop_a_master(cluster)
    await parts.directory.delete_table(SHOP, "before")
    await parts.reclaimer.run()
    assert _entries_on(living) == [0, 0]
    await _fill(store, keyspace)
    assert min(_entries_on(living)) > 0
    for wait_ms in (STALLED_MS, SLOWEST_CALL_MS + FRESH_MS + STALE_MS):
        clock.advance(wait_ms)
        for _ in range(2):
            await parts.reclaimer.run()
    assert _entries_on(living) == [0, 0]
    assert await _purged(store) == [True]
    victim.resume()
    await asyncio.to_thread(cluster.wait_until_whole)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await _purged(store):
            await parts.reclaimer.run()
            await asyncio.sleep(0.1)
    assert _entries_on(cluster.nodes) == [0, 0, 0]


async def test_a_stopped_master_holds_up_its_own_entries_and_no_others(cluster, store, parts):
    await _table(store, parts, "before")
    victim, living = await _stop_a_master(cluster)
    await parts.directory.delete_table(SHOP, "before")
    await parts.reclaimer.run()
    assert _entries_on(living) == [0, 0]
    assert await _purged(store) == [False]
    await _table(store, parts, "during")
    assert min(_entries_on(living)) > 0
    await parts.directory.delete_table(SHOP, "during")
    for _ in range(2):
        await parts.reclaimer.run()
        assert _entries_on(living) == [0, 0]
        assert await _purged(store) == [False, False]
    scanned = parts.reclaimer.scanned
    await parts.reclaimer.run()
    assert parts.reclaimer.scanned == scanned, "those that answer are not walked again"
    victim.resume()
    await asyncio.to_thread(cluster.wait_until_whole)
    async with asyncio.timeout(60):
        while not all(await _purged(store)):
            await parts.reclaimer.run()
            await asyncio.sleep(0.1)
    assert _entries_on(cluster.nodes) == [0, 0, 0]
