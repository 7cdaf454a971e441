"""Upgrades of tables of version 0.2: nothing is lost, whatever interrupts them or runs beside them."""

from contextlib import suppress
from itertools import product

import pytest

from backends.errors import BackendUnavailable, StoreFull
from backends.tables import (
    ABSENT,
    GetEntry,
    NoEntry,
    OldLayout,
    PutEntry,
    Removed,
    StoredEntry,
    Written,
)
from tests.backends.redis.conformance import opened_redis
from tests.backends.redis.upgrading import (
    OLD,
    OPERATIONS,
    all_entries,
    do,
    fail,
    interrupted,
    put_of,
    upgrade,
    value_of,
    wall_ms,
)
from tests.support.redis.version_0_2 import OldReplica

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MOST_CALLS = 100
"""More calls than one operation, or the upgrade of a few entries, takes."""


@pytest.fixture
def old(server, empty) -> OldReplica:
    return OldReplica(server)


@pytest.fixture
async def store(server, old):
    old.fill(OLD.keyspace, {"of 0.2": b"1"})
    async with opened_redis(server.url) as store:
        yield store


@pytest.fixture
def tables(store):
    return store.tables


async def test_every_entry_keeps_its_value_and_expiry_and_gets_a_revision(tables, old, server):
    expires_at_ms = wall_ms() + DAY_MS
    old.fill(OLD.keyspace, {f"k{number:03}": b"%d" % number for number in range(600)})
    old.put(OLD.keyspace, "expires", b"x" * 65536, expires_at_ms=expires_at_ms, now_ms=wall_ms())
    for key in ("a:b", "{a}", "*", "ü"):
        old.put(OLD.keyspace, key, b"odd", expires_at_ms=None, now_ms=0)
    steps = await upgrade(tables)
    entries = await all_entries(tables)
    assert entries["expires"] == StoredEntry(b"x" * 65536, expires_at_ms, entries["expires"].revision)
    assert [entries[f"k{number:03}"].value for number in range(600)] == [b"%d" % n for n in range(600)]
    assert {key for key, entry in entries.items() if entry.value == b"odd"} == {"a:b", "{a}", "*", "ü"}
    assert len({entry.revision for entry in entries.values()}) == len(entries) == 606
    assert sum(step.moved for step in steps) == 606
    assert (await tables.count(OLD, wall_ms())).entries == 606
    left = server.command("KEYS", f"kvs:e:{OLD.keyspace}:*")
    assert all(0 < server.command("PTTL", name) <= HOUR_MS for name in left)
    assert server.command("KEYS", "kvs:m:*") == []


async def test_an_upgraded_table_has_all_operations(tables):
    await upgrade(tables)
    found = await do(tables, GetEntry("of 0.2"))
    assert isinstance(found, StoredEntry)
    assert isinstance(await do(tables, PutEntry("k", put_of("k").entry, ABSENT)), Written)
    assert sorted(await all_entries(tables)) == ["k", "of 0.2"]


async def test_an_upgrade_may_be_repeated(tables):
    await upgrade(tables)
    before = await all_entries(tables)
    assert sum(step.moved for step in await upgrade(tables)) == 0
    assert await all_entries(tables) == before


async def test_other_tables_stay_as_they_are(tables, old):
    other = OLD.keyspace[:-1] + "1"
    old.fill(other, {"k": b"1"})
    await upgrade(tables)
    assert old.get(other, "k") == (b"1", None)


@pytest.mark.parametrize("cursor", [None, "", "moving:x:y", "moved:::", "nonsense"])
async def test_any_cursor_of_another_upgrade_begins_again(tables, old, cursor):
    old.fill(OLD.keyspace, {f"k{number}": b"1" for number in range(600)})
    await tables.upgrade(OLD, None, wall_ms())
    await tables.upgrade(OLD, cursor, wall_ms())
    await upgrade(tables)
    assert len(await all_entries(tables)) == 601


async def test_an_upgrade_that_fails_at_any_call_is_begun_again(store, tables, old):
    """Each attempt fails one call later than the last; operations meet what it leaves behind."""
    old.fill(OLD.keyspace, {f"k{number}": b"1" for number in range(60)})
    at, is_over = 0, False
    while not is_over:
        failing, topology = interrupted(store, at, fail)
        with suppress(BackendUnavailable):
            await upgrade(failing)
        is_over, at = topology.calls <= at, at + 1
        assert await do(tables, put_of(f"k{at % 60}", b"%d" % at)) is not None
        assert await value_of(tables, f"k{at % 60}") == b"%d" % at
    assert at > 60
    expected = {f"k{number % 60}": b"%d" % number for number in range(1, at + 1)}
    found = {key: entry.value for key, entry in (await all_entries(tables)).items()}
    assert found == {f"k{number}": b"1" for number in range(60)} | expected | {"of 0.2": b"1"}


async def _start_again(store, old, value: bytes | None) -> None:
    """Empties the store, and puts an old table with an entry, or with another one."""
    old.empty_store()
    old.fill(OLD.keyspace, {"other": b"1"} if value is None else {"k": value})
    await store.tables._marks.settle(OLD)


async def _upgraded_up_to(tables, mark: str) -> None:
    cursor: str | None = None
    while await tables._marks.read(OLD) != mark:
        step = await tables.upgrade(OLD, cursor, wall_ms())
        cursor = step.cursor


@pytest.mark.parametrize("to", ["moving", "moved", "new"])
@pytest.mark.parametrize(("name", "before"), list(product(OPERATIONS, (None, b"old"))))
async def test_an_upgrade_between_any_two_calls_of_an_operation_loses_nothing(store, old, name, before, to):
    """The table advances to each mark between each two calls. Afterwards the answer must be true."""
    tables = store.tables
    for at in range(MOST_CALLS):
        await _start_again(store, old, before)
        racing, topology = interrupted(store, at, lambda: _upgraded_up_to(tables, to))
        operation = OPERATIONS[name]()
        try:
            result = await do(racing, operation)
        except BackendUnavailable:
            result = None
        if topology.calls <= at:
            return
        after = await value_of(tables, "k")
        match name, result:
            case "put", Written():
                assert after == b"new"
            case "delete", Removed():
                assert after is None
            case "get", StoredEntry(value=value):
                assert value == before == after
            case "get", NoEntry():
                assert before is after is None
            case _:
                assert result is None
                assert after in {before, b"new" if name == "put" else None}
        await upgrade(tables)
        assert await value_of(tables, "k") == after
    raise AssertionError("the operation does not end")


@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_that_fails_at_any_call_leaves_an_entry_that_it_explains(store, old, name):
    """The table is being moved, and the replica of the operation is gone after each of its calls."""
    tables = store.tables
    for at in range(MOST_CALLS):
        await _start_again(store, old, b"old")
        await tables.upgrade(OLD, None, wall_ms())
        dying, topology = interrupted(store, at, fail)
        with suppress(BackendUnavailable):
            await do(dying, OPERATIONS[name]())
        seen = await value_of(tables, "k")
        assert seen in {"put": {b"old", b"new"}, "get": {b"old"}, "delete": {b"old", None}}[name]
        await upgrade(tables)
        assert await value_of(tables, "k") == seen
        if topology.calls <= at:
            return
    raise AssertionError("the operation does not end")


async def test_a_table_that_is_being_moved_needs_the_rest_of_its_upgrade(tables):
    await tables.upgrade(OLD, None, wall_ms())
    assert await tables.count(OLD, wall_ms()) == OldLayout()
    assert await do(tables, PutEntry("k", put_of("k").entry, ABSENT)) == OldLayout()


async def test_a_failover_that_loses_the_mark_loses_no_entry(server, tables, old):
    """The frozen string shows that a move has begun."""
    await _upgraded_up_to(tables, "moved")
    server.command("DEL", *server.command("KEYS", "kvs:b:*"), *server.command("KEYS", "kvs:[tnxdm]:*"))
    assert await value_of(tables, "of 0.2") == b"1"
    await upgrade(tables)
    assert await value_of(tables, "of 0.2") == b"1"


async def test_a_walk_is_repeated_if_the_home_has_moved_to_another_process(tables, old):
    old.fill(OLD.keyspace, {f"k{number}": b"1" for number in range(600)})
    first = await tables.upgrade(OLD, None, wall_ms())
    _, run, _ = first.cursor.split(":", 2)
    second = await tables.upgrade(OLD, first.cursor, wall_ms())
    third = await tables.upgrade(OLD, second.cursor.replace(run, "0" * 40, 1), wall_ms())
    assert third.scanned == 750  # all keys; the rest of the walk would be fewer
    await upgrade(tables)
    assert len(await all_entries(tables)) == 601


async def test_a_full_store_stops_an_upgrade_and_no_get(server, tables, old):
    old.fill(OLD.keyspace, {f"k{number}": b"%d" % number for number in range(600)})
    await tables.upgrade(OLD, None, wall_ms())
    server.command("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(StoreFull):
            await upgrade(tables)
        assert await value_of(tables, "k7") == b"7"
    finally:
        server.command("CONFIG", "SET", "maxmemory", 0)
    await upgrade(tables)
    assert len(await all_entries(tables)) == 601
