"""Replicas that share a Redis Cluster whose slots move."""

import asyncio
import re
from secrets import token_hex

import pytest

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from backends.interface import Keyspace
from backends.paging import all_records
from tests.backends.redis.conformance import PREFIX, RedisConformance, opened_redis
from tests.support import entries
from tests.support.entries import Entry
from tests.support.redis import Cluster
from tests.support.redis.deadlines import deadlines_of
from tests.support.repository import ROOT
from tests.support.store_traffic import TABLE, traffic

MOVES = 4
STORES = (ROOT / "docs" / "stores.md").read_text()
RIGHTS = re.search(r"^ACL SETUSER gateway (.+)$", STORES, re.MULTILINE)[1].split()


@pytest.fixture(scope="module")
def cluster():
    with deadlines_of(), Cluster() as running:
        yield running


@pytest.fixture
async def store(cluster):
    async with opened_redis(cluster.url) as backend:
        yield backend


class TestCluster(RedisConformance):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def server(cls, cluster):
        cls.servers, cls.settings = cluster.nodes, {"url": cluster.url}


def _name(key, table=TABLE):
    return f"{PREFIX}:e:{table}:{key}"


def _name_of_counter(bucket):
    return f"{PREFIX}:w:{bucket}".encode()


def _next_master(cluster, slot):
    owner = cluster.owner_of(slot)
    return cluster.nodes[(cluster.nodes.index(owner) + 1) % 3]


async def test_no_call_fails_and_no_write_is_lost_while_slots_move(cluster, store):
    """The braces make all keys of a task share a slot, so each move carries many of them."""
    tag = f"{{{token_hex(4)}}}"
    keys = [f"{tag}{number}" for number in range(6)] + [f"elsewhere-{number}" for number in range(3)]
    slot = cluster.slot_of(tag)
    async with traffic(store, keys) as running:
        for _ in range(MOVES):
            await asyncio.to_thread(cluster.move_slot, slot, _next_master(cluster, slot))
            await running.until_served()
    assert running.faults == []
    assert running.lost == []


@pytest.fixture
def half_moved(cluster):
    """A slot half of whose keys have moved, and the tag that keys in it share."""
    tag = f"{{{token_hex(4)}}}"
    move = cluster.slot_move(cluster.slot_of(tag), _next_master(cluster, cluster.slot_of(tag)))
    for number in range(10):
        move.source.command("SET", _name(f"{tag}{number}"), b"\x01" + bytes(8) + b"%d" % number)
    move.begin()
    move.move_keys(at_most=5)
    yield tag, move
    move.finish()
    cluster.wait_until_whole()


async def test_every_key_is_served_in_the_middle_of_a_move(cluster, store, half_moved):
    tag, _ = half_moved
    for number in range(10):
        assert await entries.get(store, TABLE, f"{tag}{number}") == Entry(b"%d" % number, None)
    for number in range(20):
        await entries.put(store, TABLE, f"{tag}{number}", Entry(b"new", None))
        assert await entries.get(store, TABLE, f"{tag}{number}") == Entry(b"new", None)
    for number in range(20):
        await entries.delete(store, TABLE, f"{tag}{number}")
        assert await entries.get(store, TABLE, f"{tag}{number}") is None


async def test_a_user_with_the_rights_that_the_documents_give_is_served_in_the_middle_of_a_move(
    cluster, half_moved
):
    tag, _ = half_moved
    for node in cluster.nodes:
        node.command("ACL", "SETUSER", "gateway", *RIGHTS)
    async with opened_redis(cluster.url.replace("://", "://gateway:password@")) as store:
        for number in range(10):
            assert await entries.get(store, TABLE, f"{tag}{number}") == Entry(b"%d" % number, None)
        await entries.put(store, TABLE, f"{tag}new", Entry(b"new", 4_000_000_000_000))
        await entries.delete(store, TABLE, f"{tag}new")
        assert (await store.counters.charge(tag, 1, 60_000)).admitted
        assert await store.records.swap("app/a", b"{}", None)
        assert [name async for name, _ in all_records(store.records, "app/")] == ["app/a"]
        await entries.drop(store, TABLE)
        await store.ping()
        assert store.clock_lead_seconds is not None


async def test_the_script_is_loaded_into_a_node_that_imports_a_slot(cluster, store, half_moved):
    tag, move = half_moved
    for node in cluster.nodes:
        node.command("SCRIPT", "FLUSH")
    charges = [await store.counters.charge(tag, 2, 60_000) for _ in range(3)]
    assert [charge.admitted for charge in charges] == [True, True, False]
    assert move.target.command("KEYS", _name_of_counter(tag)) == [_name_of_counter(tag)]


async def test_the_script_is_loaded_into_the_new_node_of_a_slot(cluster, store):
    tag = token_hex(4)
    slot = cluster.slot_of(_name_of_counter(tag))
    assert (await store.counters.charge(tag, 2, 60_000)).admitted
    target = _next_master(cluster, slot)
    await asyncio.to_thread(cluster.move_slot, slot, target)
    target.command("SCRIPT", "FLUSH")
    charges = [await store.counters.charge(tag, 2, 60_000) for _ in range(2)]
    assert [charge.admitted for charge in charges] == [True, False]


async def test_exactly_the_limit_is_admitted_while_the_counters_slot_moves(cluster, store):
    """From two replicas, each with several calls under way at any time."""
    limit, bucket = 5_000, token_hex(4)
    slot = cluster.slot_of(_name_of_counter(bucket))
    verdicts = []
    is_over = False

    async def charge(replica):
        while not is_over:
            verdicts.append((await replica.counters.charge(bucket, limit, 60_000)).admitted)

    async with opened_redis(cluster.url) as other, asyncio.TaskGroup() as callers:
        for replica in (store, other) * 4:
            callers.create_task(charge(replica))
        moves = 0
        while all(verdicts):
            await asyncio.to_thread(cluster.move_slot, slot, _next_master(cluster, slot))
            moves += 1
        is_over = True
    assert moves > 1
    assert sum(verdicts) == limit


async def test_the_next_purge_finds_the_keys_that_one_missed_while_a_slot_moved(cluster, store):
    table = Keyspace(f"tbl_{token_hex(4)}")
    tag = f"{{{token_hex(4)}}}"
    keys = [f"{tag}{number}" for number in range(30)] + [f"key-{number}" for number in range(300)]
    for key in keys:
        await entries.put(store, table, key, Entry(b"1", None))
    await entries.put(store, TABLE, tag, Entry(b"1", None))
    slot = cluster.slot_of(tag)
    move = asyncio.create_task(asyncio.to_thread(cluster.move_slot, slot, _next_master(cluster, slot)))
    while not move.done():
        await entries.drop(store, table)
    await move
    await entries.drop(store, table)
    assert sum(len(node.command("KEYS", _name("*", table))) for node in cluster.nodes) == 0
    assert await entries.get(store, TABLE, tag) == Entry(b"1", None)


async def test_a_purge_right_after_the_start_purges(cluster, store):
    table = Keyspace(f"tbl_{token_hex(4)}")
    for number in range(10):
        await entries.put(store, table, f"{number}", Entry(b"1", None))
    late = await open_backend(RedisSettings(url=cluster.url), SystemClock())
    try:
        await entries.drop(late, table)
    finally:
        await late.close()
    assert sum(len(node.command("KEYS", _name("*", table))) for node in cluster.nodes) == 0


async def test_a_moment_in_which_a_slot_has_no_master_fails_no_call(cluster, store):
    """A node that hears of the old master's new role before it hears of the new master is in this state."""
    tag = f"{{{token_hex(4)}}}"
    slot = cluster.slot_of(tag)
    owner = cluster.owner_of(slot)
    async with traffic(store, [f"{tag}{number}" for number in range(6)]) as running:
        owner.command("CLUSTER", "DELSLOTS", slot)
        asyncio.get_running_loop().call_later(0.1, owner.command, "CLUSTER", "ADDSLOTS", slot)
        await running.until_served()
    await asyncio.to_thread(cluster.wait_until_whole)
    assert running.faults == []
    assert running.lost == []
