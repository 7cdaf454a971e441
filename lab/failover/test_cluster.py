"""Replicas that share a Redis Cluster whose slots move."""

import asyncio
import re
from secrets import token_hex

import pytest

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from backends.interface import Keyspace
from backends.paging import all_records
from backends.tables import AddToEntry, Revisions, Table
from tests.backends.redis.conformance import PREFIX, RedisConformance, opened_redis
from tests.support import entries
from tests.support.entries import Entry
from tests.support.redis import Cluster
from tests.support.redis.deadlines import deadlines_of
from tests.support.repository import ROOT
from tests.support.store_traffic import traffic

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


def _name_of_counter(bucket):
    return f"{PREFIX}:w:{bucket}".encode()


def _next_master(cluster, slot):
    owner = cluster.owner_of(slot)
    return cluster.nodes[(cluster.nodes.index(owner) + 1) % 3]


async def test_no_call_fails_and_no_write_is_lost_while_slots_move(cluster, store):
    """Each move carries several keys of one home: for a moment two nodes have some of them each."""
    home = token_hex(4)
    keys = [f"{home}/{number}" for number in range(6)] + [f"elsewhere-{number}" for number in range(3)]
    slot = cluster.slot_of(_name_of_counter(home))
    async with traffic(store, keys) as running:
        for _ in range(MOVES):
            await asyncio.to_thread(cluster.move_slot, slot, _next_master(cluster, slot))
            await running.until_served()
    assert running.faults == []
    assert running.lost == []


@pytest.fixture
async def half_moved(cluster, store):
    """Tables of one home, some of whose keys have moved to another node, and the move."""
    home = token_hex(4)
    tables = [Table(home, Keyspace(f"t2_{token_hex(4)}")) for _ in range(10)]
    for number, table in enumerate(tables):
        await entries.put(store, table, "k", Entry(b"%d" % number, None))
    slot = cluster.slot_of(_name_of_counter(home))
    move = cluster.slot_move(slot, _next_master(cluster, slot))
    move.begin()
    move.move_keys(at_most=5)
    yield tables, move
    move.finish()
    cluster.wait_until_whole()
    for table in tables:
        await entries.drop(store, table)


async def _finish(move):
    """Finishes a move while calls wait for it."""
    await asyncio.sleep(0.1)
    await asyncio.to_thread(move.finish)


async def test_calls_in_the_middle_of_a_move_wait_for_its_end_and_are_done_once(store, half_moved):
    tables, move = half_moved
    finishing = asyncio.create_task(_finish(move))
    found = await asyncio.gather(*(entries.get(store, table, "k") for table in tables))
    assert found == [Entry(b"%d" % number, None) for number in range(10)]
    for revision in Revisions(), Revisions():
        adds = (store.tables.execute(table, AddToEntry("k", 1, None, revision.next()), 0) for table in tables)
        await asyncio.gather(*adds)
    await finishing
    found = await asyncio.gather(*(entries.get(store, table, "k") for table in tables))
    assert found == [Entry(b"%d" % (number + 2), None) for number in range(10)]


async def test_a_user_with_the_rights_that_the_documents_give_is_served_in_the_middle_of_a_move(
    cluster, half_moved
):
    tables, move = half_moved
    for node in cluster.nodes:
        node.command("ACL", "SETUSER", "gateway", *RIGHTS)
    async with opened_redis(cluster.url.replace("://", "://gateway:password@")) as store:
        assert (await store.counters.charge(tables[0].home, 1, 60_000)).admitted
        finishing = asyncio.create_task(_finish(move))
        for number, table in enumerate(tables):
            assert await entries.get(store, table, "k") == Entry(b"%d" % number, None)
        await finishing
        await entries.put(store, tables[0], "new", Entry(b"new", 4_000_000_000_000))
        await entries.delete(store, tables[0], "new")
        assert await store.records.swap("app/a", b"{}", None)
        assert [name async for name, _ in all_records(store.records, "app/")] == ["app/a"]
        await entries.drop(store, tables[0])
        await store.ping()
        assert store.clock_lead_seconds is not None


async def test_the_script_is_loaded_into_a_node_that_imports_a_slot(cluster, store, half_moved):
    tables, move = half_moved
    home = tables[0].home
    for node in cluster.nodes:
        node.command("SCRIPT", "FLUSH")
    charges = [await store.counters.charge(home, 2, 60_000) for _ in range(3)]
    assert [charge.admitted for charge in charges] == [True, True, False]
    assert move.target.command("KEYS", _name_of_counter(home)) == [_name_of_counter(home)]


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


async def test_a_table_that_is_dropped_while_its_slot_moves_is_empty_and_others_are_not(cluster, store):
    home = token_hex(4)
    dropped, kept = (Table(home, Keyspace(f"t2_{token_hex(4)}")) for _ in "12")
    for number in range(100):
        await entries.put(store, dropped, f"{number}", Entry(b"1", 4_000_000_000_000))
    await entries.put(store, kept, "k", Entry(b"1", None))
    slot = cluster.slot_of(_name_of_counter(home))
    move = asyncio.create_task(asyncio.to_thread(cluster.move_slot, slot, _next_master(cluster, slot)))
    await entries.drop(store, dropped)
    await move
    assert (await entries.count(store, dropped)).entries == 0
    assert await entries.get(store, kept, "k") == Entry(b"1", None)


async def test_a_table_that_is_dropped_right_after_the_start_is_empty(cluster, store):
    table = Keyspace(f"t2_{token_hex(4)}")
    for number in range(10):
        await entries.put(store, table, f"{number}", Entry(b"1", None))
    late = await open_backend(RedisSettings(url=cluster.url), SystemClock())
    try:
        await entries.drop(late, table)
    finally:
        await late.close()
    assert (await entries.count(store, table)).entries == 0


async def test_a_moment_in_which_a_slot_has_no_master_fails_no_call(cluster, store):
    """A node that hears of the old master's new role before it hears of the new master is in this state."""
    home = token_hex(4)
    slot = cluster.slot_of(_name_of_counter(home))
    owner = cluster.owner_of(slot)
    async with traffic(store, [f"{home}/{number}" for number in range(6)]) as running:
        owner.command("CLUSTER", "DELSLOTS", slot)
        asyncio.get_running_loop().call_later(0.1, owner.command, "CLUSTER", "ADDSLOTS", slot)
        await running.until_served()
    await asyncio.to_thread(cluster.wait_until_whole)
    assert running.faults == []
    assert running.lost == []
