"""Tables that version 0.2 has created go on without an upgrade, and beside replicas of that version."""

import pytest

from backends.errors import CorruptEntry
from backends.interface import Keyspace
from backends.tables import (
    PRESENT,
    Budget,
    Charges,
    DeleteEntry,
    Done,
    GetEntry,
    NoEntry,
    OldLayout,
    OldReplicas,
    PutEntry,
    Refused,
    Removed,
    StoredEntry,
    Table,
    Written,
)
from tests.backends.redis.conformance import opened_redis
from tests.backends.redis.upgrading import (
    HOME,
    NEW_OPERATIONS,
    OLD,
    do,
    interrupted,
    nothing,
    put_of,
    upgrade,
    value_of,
    wall_ms,
)
from tests.support.redis.version_0_2 import OldReplica

HOUR_MS = 3_600_000
BUDGETS = (Budget(OLD.keyspace, 5), Budget(HOME, 9))
CHARGES = Charges(BUDGETS, 60_000)
DECLARED = Table(HOME, Keyspace(f"decl_{0:032x}"))
NEW = Table(HOME, Keyspace(f"t2_{0:032x}"))


@pytest.fixture
def old(server, empty) -> OldReplica:
    old = OldReplica(server)
    old.put(OLD.keyspace, "of 0.2", b"1", expires_at_ms=wall_ms() + HOUR_MS, now_ms=wall_ms())
    return old


@pytest.fixture
async def store(server, old):
    async with opened_redis(server.url) as store:
        yield store


@pytest.fixture
def tables(store):
    return store.tables


async def test_each_version_reads_what_the_other_has_put(tables, old):
    expires_at_ms = wall_ms() + HOUR_MS
    old.put(OLD.keyspace, "k", b"old", expires_at_ms=expires_at_ms, now_ms=wall_ms())
    assert await do(tables, GetEntry("k")) == StoredEntry(b"old", expires_at_ms, "")
    assert await do(tables, put_of("k", b"new", expires_at_ms)) == Written("")
    assert old.get(OLD.keyspace, "k") == (b"new", expires_at_ms)
    assert await do(tables, DeleteEntry("k")) == Removed()
    assert old.get(OLD.keyspace, "k") is None
    assert await do(tables, GetEntry("k")) == NoEntry()


async def test_a_put_expires_in_redis_as_with_version_0_2(tables, server):
    await do(tables, put_of("k", b"1", wall_ms() + HOUR_MS))
    assert HOUR_MS - 2000 < server.command("PTTL", f"kvs:e:{OLD.keyspace}:k") <= HOUR_MS
    await do(tables, put_of("k", b"1", wall_ms()))
    assert server.command("EXISTS", f"kvs:e:{OLD.keyspace}:k") == 0


@pytest.mark.parametrize("operation", NEW_OPERATIONS.values(), ids=NEW_OPERATIONS.keys())
async def test_operations_of_the_new_layout_need_an_upgrade(tables, operation):
    assert await do(tables, operation) == OldLayout()


async def test_conditions_and_counts_need_an_upgrade(tables):
    assert await do(tables, PutEntry("k", put_of("k").entry, PRESENT)) == OldLayout()
    assert await do(tables, DeleteEntry("k", PRESENT)) == OldLayout()
    assert await tables.count(OLD, wall_ms()) == OldLayout()


async def test_a_batch_needs_an_upgrade_and_is_charged(tables, old):
    done = await tables.step(Charges(BUDGETS, 60_000, 2), OLD, [put_of("k"), GetEntry("k")], wall_ms())
    assert isinstance(done, Done)
    assert done.results == (OldLayout(), OldLayout())
    assert (old.charges(OLD.keyspace), old.charges(HOME)) == (2, 2)
    assert await value_of(tables, "k") is None


async def test_windows_have_the_names_of_version_0_2(tables, old):
    for _ in range(5):
        assert isinstance(await tables.step(CHARGES, OLD, [GetEntry("k")], wall_ms()), Done)
    assert (old.charges(OLD.keyspace), old.charges(HOME)) == (5, 5)
    refused = await tables.step(CHARGES, OLD, [put_of("k")], wall_ms())
    assert isinstance(refused, Refused)
    assert refused.budget == BUDGETS[0]
    assert await value_of(tables, "k") is None


async def test_a_malformed_call_is_charged(tables, old):
    done = await tables.step(CHARGES, OLD, [], wall_ms())
    assert isinstance(done, Done)
    assert (done.results, old.charges(HOME)) == ((), 1)


async def test_a_step_of_a_new_or_upgraded_table_is_one_call(store, server):
    await upgrade(store.tables)
    for table in (NEW, OLD):
        tables, topology = interrupted(store, -1, nothing)
        charges = Charges((Budget(HOME, 100),), 60_000)
        for _ in "12":  # sends both scripts: the first step looks for expired entries
            await tables.step(charges, table, [put_of("k")], wall_ms())
        topology.calls = 0
        assert isinstance(await tables.step(charges, table, [put_of("k")], wall_ms()), Done)
        assert topology.calls == 1


async def test_a_store_without_old_entries_has_new_tables_from_the_first_call_on(server, empty):
    async with opened_redis(server.url) as one, opened_redis(server.url) as other:
        assert isinstance(await do(one.tables, put_of("k"), DECLARED), Written)
        OldReplica(server).put(OLD.keyspace, "k", b"1", expires_at_ms=None, now_ms=0)
        assert (await other.tables.count(DECLARED, wall_ms())).entries == 1
        assert (await other.tables.count(OLD, wall_ms())).entries == 0


async def test_a_store_with_old_entries_has_old_tables(tables):
    assert await tables.count(DECLARED, wall_ms()) == OldLayout()


async def test_a_store_with_old_replicas_has_old_tables(server, empty):
    OldReplica(server).ping()
    async with opened_redis(server.url) as store:
        assert await store.tables.count(DECLARED, wall_ms()) == OldLayout()


async def test_old_replicas_are_noticed_before_an_upgrade(tables, old):
    old.ping()
    assert await tables.upgrade(OLD, None, wall_ms()) == OldReplicas()
    assert await value_of(tables, "of 0.2") == b"1"
    assert old.get(OLD.keyspace, "of 0.2") is not None
    old.end()
    await upgrade(tables)


async def test_new_replicas_are_not_taken_for_old_ones(store):
    await store.ping()
    await upgrade(store.tables)


@pytest.mark.parametrize("steps", [0, 1, 2])
async def test_a_table_is_dropped_at_any_step_of_its_upgrade(tables, server, old, steps):
    old.fill(OLD.keyspace, {f"k{number}": b"1" for number in range(600)})
    cursor = None
    for _ in range(steps):
        cursor = (await tables.upgrade(OLD, cursor, wall_ms())).cursor
    await tables.drop([OLD, NEW])
    assert [name for name in server.command("KEYS", "*") if OLD.keyspace.encode() in name] == []
    assert await value_of(tables, "k1") is None


async def test_a_dropped_upgraded_table_leaves_strings_that_expire(tables, server):
    await upgrade(tables)
    await tables.drop([OLD])
    (left,) = [name for name in server.command("KEYS", "*") if OLD.keyspace.encode() in name]
    assert 0 < server.command("PTTL", left) <= HOUR_MS
    assert await value_of(tables, "of 0.2") is None


async def test_foreign_data_is_an_error_and_does_not_stop_an_upgrade(tables, server):
    server.command("SET", f"kvs:e:{OLD.keyspace}:foreign", b"1")
    server.command("RPUSH", f"kvs:e:{OLD.keyspace}:list", "x")
    with pytest.raises(CorruptEntry):
        await do(tables, GetEntry("foreign"))
    with pytest.raises(CorruptEntry):
        await do(tables, GetEntry("list"))
    await upgrade(tables)
    assert (await tables.count(OLD, wall_ms())).entries == 1
