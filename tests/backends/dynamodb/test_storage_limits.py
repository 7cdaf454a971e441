"""The storage limit on DynamoDB: as of the last count, without a read per put."""

import asyncio

import pytest

from backends.errors import CorruptEntry
from backends.interface import Keyspace
from backends.tables import (
    ABSENT,
    PRESENT,
    AddToEntry,
    NoRoom,
    PutEntry,
    Revisions,
    StoredEntry,
    Sum,
    Table,
    TableCount,
    TouchEntry,
    Unmet,
    Written,
)
from tests.backends.dynamodb.conformance import opened_dynamodb
from tests.support.clock import YEAR_2100_MS, FakeClock
from tests.support.dynamodb import ScriptedEndpoint

pytestmark = pytest.mark.usefixtures("engine_credentials")

FREE = Table("acme/shop/production", Keyspace("tbl_a"))
LIMITED = Table("acme/shop/production", Keyspace("tbl_a"), 100)
OTHER = Table("acme/shop/production", Keyspace("tbl_b"), 100)
REVISIONS = Revisions()
MINUTE_MS = 60_000


@pytest.fixture
def clock():
    return FakeClock(YEAR_2100_MS)


@pytest.fixture
async def front(engine):
    async with ScriptedEndpoint(engine.endpoint_url) as front:
        yield front


@pytest.fixture
async def store(front, table_name, clock):
    async with opened_dynamodb(front.endpoint_url, table_name, clock) as store:
        yield store


@pytest.fixture
async def counting(engine, table_name, clock, store):
    """The replica that counts."""
    async with opened_dynamodb(engine.endpoint_url, table_name, clock) as counting:
        yield counting


@pytest.fixture
def put(store, clock):
    async def put(key: str, value: bytes, table=LIMITED, expires_in_ms=None, **options) -> object:
        expires_at_ms = None if expires_in_ms is None else clock.wall_ms() + expires_in_ms
        entry = StoredEntry(value, expires_at_ms, REVISIONS.next())
        return await store.tables.execute(table, PutEntry(key, entry, **options), clock.wall_ms())

    return put


@pytest.fixture
def add(store, clock):
    async def add(key: str, by: int = 1) -> object:
        operation = AddToEntry(key, by, None, REVISIONS.next())
        return await store.tables.execute(LIMITED, operation, clock.wall_ms())

    return add


async def test_nothing_is_limited_before_the_first_count(store, put, clock):
    assert isinstance(await put("k", b"x" * 99), Written)
    assert isinstance(await put("l", b"x" * 99), Written)
    assert await store.tables.count(LIMITED, clock.wall_ms()) == TableCount(0, 0, None, is_exact=False)


async def test_a_count_names_its_instant_and_leaves_out_expired_entries(store, counting, put, add, clock):
    await put("ab", b"123")
    await put("\u00e9", b"12")
    await put("gone", b"1", expires_in_ms=1000)
    await add("n", 12)
    await put("other", b"1", OTHER)
    clock.advance(1000)
    await counting.tables.tidy([LIMITED, OTHER], clock.wall_ms())
    counted_at_ms = clock.wall_ms()
    clock.advance(MINUTE_MS)
    for replica in (store, counting):
        count = await replica.tables.count(LIMITED, clock.wall_ms())
        assert count == TableCount(3, 5 + 4 + 3, counted_at_ms, is_exact=False)
        assert (await replica.tables.count(OTHER, clock.wall_ms())).entries == 1


async def test_a_put_beyond_the_limit_is_refused_and_a_smaller_replacement_is_not(
    store, counting, put, add, clock
):
    await put("a", b"x" * 59)
    await add("n", 98)
    await put("b", b"x" * 29, OTHER)
    await counting.tables.tidy([LIMITED, OTHER], clock.wall_ms())  # 60 + 3 + 30
    clock.advance(6 * MINUTE_MS)
    assert await put("c", b"x" * 7) == NoRoom()
    assert isinstance(await put("c", b"x" * 6), Written)
    assert isinstance(await put("a", b"x" * 59), Written)
    assert await put("a", b"x" * 67) == NoRoom()
    assert isinstance(await put("a", b"x" * 66), Written)
    assert isinstance(await put("n", b"12"), Written)
    assert isinstance(await put("d", b"x" * 99, FREE), Written)


async def test_beyond_the_limit_conditions_come_first_and_other_operations_go_on(
    store, counting, put, add, clock
):
    await put("a", b"x" * 120, FREE)
    await add("n", 9)
    await counting.tables.tidy([LIMITED], clock.wall_ms())
    clock.advance(6 * MINUTE_MS)
    assert await put("new", b"", condition=PRESENT) == Unmet(None)
    assert isinstance(await put("a", b"1", condition=ABSENT), Unmet)
    assert await put("new", b"", condition=ABSENT) == NoRoom()
    assert await add("m") == NoRoom()
    assert isinstance(await add("n"), Sum)
    touch = TouchEntry("a", None, REVISIONS.next())
    assert isinstance(await store.tables.execute(LIMITED, touch, clock.wall_ms()), Written)
    assert isinstance(await put("a", b"y" * 120, condition=PRESENT), Written)


async def test_a_replica_reads_a_count_once_in_five_minutes(front, put, counting, clock):
    await put("a", b"x")
    front.calls.clear()
    for number in range(5):
        await asyncio.gather(put(f"k{number}", b"x"), put(f"l{number}", b"x", OTHER))
    assert {call.operation for call in front.calls} == {"PutItem"}
    await counting.tables.tidy([LIMITED, OTHER], clock.wall_ms())
    clock.advance(5 * MINUTE_MS + 1000)
    front.calls.clear()
    await put("a", b"x")
    await put("a", b"x")
    assert [call.operation for call in front.calls] == ["GetItem", "PutItem", "PutItem"]


async def test_apps_without_a_limit_are_neither_counted_nor_read(front, store, put, clock):
    await put("a", b"x", FREE)
    front.calls.clear()
    await store.tables.tidy([FREE], clock.wall_ms())
    await put("b", b"x", FREE)
    assert [call.operation for call in front.calls] == ["PutItem"]


async def test_a_count_leaves_by_itself_and_a_foreign_one_is_not_believed(
    store, put, engine, table_name, clock
):
    await put("a", b"x", FREE)
    await store.tables.tidy([LIMITED], clock.wall_ms())
    (item,) = [each for each in engine.observer.scan(table_name) if each["pk"]["S"].startswith("n#")]
    assert int(item["t"]["N"]) * 1000 == clock.wall_ms() + 7 * 24 * 60 * MINUTE_MS
    foreign = {**item, "d": {"S": '{"by_keyspace":[1]}'}}
    await asyncio.to_thread(engine.observer.client.put_item, TableName=table_name, Item=foreign)
    with pytest.raises(CorruptEntry):
        await store.tables.count(LIMITED, clock.wall_ms())


async def test_a_count_follows_pages(store, put, clock):
    """More than a page of a megabyte in some partitions."""
    for first in range(0, 60, 20):
        await asyncio.gather(*(put(f"k{n}", b"x" * 300_000, FREE) for n in range(first, first + 20)))
    await store.tables.tidy([LIMITED], clock.wall_ms())
    size = sum(len(f"k{number}") + 300_000 for number in range(60))
    count = await store.tables.count(LIMITED, clock.wall_ms())
    assert (count.entries, count.bytes) == (60, size)
