"""Entries of tables in DynamoDB, as users see them and as the table stores them."""

import asyncio
from uuid import uuid4

import pytest
from hypothesis import given, settings

from backends.clock import SystemClock
from backends.dynamodb import client
from backends.errors import CorruptEntry
from backends.interface import Keyspace
from tests.backends.dynamodb.conformance import new_table, opened_dynamodb
from tests.backends.dynamodb.scripted import page, store_on
from tests.backends.test_random_operations import SEEDS, Run, acts_of
from tests.support.clock import FakeClock
from tests.support.dynamodb import Ministack, ScriptedEndpoint
from tests.support.dynamodb.answers import answer, refusal
from tests.support.dynamodb.endpoint import after_it_was_applied
from tests.support.entries import Entry, delete, drop, get, put

pytestmark = pytest.mark.usefixtures("engine_credentials")

TABLE = Keyspace("tbl_a")
NOW_MS = SystemClock().wall_ms() // 1000 * 1000
HOUR_MS = 3_600_000
ODD_KEYS = [
    "k",
    "é",
    "e\u0301",
    "#",
    "e#tbl_a#0",
    "a b\tc\n",
    '"\\{}',
    "\x00",
    "\x7f\x80\ufeff\uffff",
    "😀",
    "../..//?&=%00",
    ":pk",
    "k" * 512,
    "é" * 256,
]


@pytest.fixture
async def store(engine, table_name):
    async with opened_dynamodb(engine.endpoint_url, table_name) as store:
        yield store


@pytest.fixture
def items(engine, table_name):
    """Items of the table without their partition keys and revisions."""

    def items() -> list[dict]:
        found = engine.observer.scan(table_name)
        for item in found:
            assert item.pop("pk")["S"].startswith("e#tbl_a#")
            assert len(item.pop("r")["S"]) == 22
        return found

    return items


async def test_an_entry_without_expiry_is_a_value_and_a_revision(store, items):
    await put(store, TABLE, "k", Entry(b'"\x00\xff"', None))
    assert items() == [{"sk": {"S": "k"}, "v": {"B": b'"\x00\xff"'}}]


@pytest.mark.parametrize("past_ms", [0, 1, 999])
async def test_time_to_live_is_the_expiry_rounded_up_to_seconds(store, items, past_ms):
    expires_at_ms = NOW_MS + HOUR_MS + past_ms
    await put(store, TABLE, "k", Entry(b"1", expires_at_ms))
    seconds = (NOW_MS + HOUR_MS) // 1000 + (past_ms > 0)
    value = {"v": {"B": b"1"}, "x": {"N": str(expires_at_ms)}, "t": {"N": str(seconds)}}
    assert items() == [{"sk": {"S": "k"}, **value}]
    assert await get(store, TABLE, "k") == Entry(b"1", expires_at_ms)


async def test_a_put_without_expiry_clears_that_of_an_earlier_one(store, items):
    await put(store, TABLE, "k", Entry(b"1", NOW_MS + HOUR_MS))
    await put(store, TABLE, "k", Entry(b"2", None))
    assert items() == [{"sk": {"S": "k"}, "v": {"B": b"2"}}]


async def test_the_largest_entry_and_odd_values_come_back_as_they_were(store):
    for value in (b"", b"\x00", bytes(range(256)) * 512):
        await put(store, TABLE, "k", Entry(value, None))
        assert await get(store, TABLE, "k") == Entry(value, None)


async def test_odd_keys_do_not_collide(store, engine, table_name):
    values = {key: Entry(str(number).encode(), None) for number, key in enumerate(ODD_KEYS)}
    await asyncio.gather(*(put(store, TABLE, key, entry) for key, entry in values.items()))
    assert {key: await get(store, TABLE, key) for key in ODD_KEYS} == values
    seen = {item["sk"]["S"] for item in engine.observer.scan(table_name)}
    assert seen == set(ODD_KEYS)
    await delete(store, TABLE, ODD_KEYS[1])
    assert await get(store, TABLE, ODD_KEYS[1]) is None
    assert await get(store, TABLE, ODD_KEYS[2]) == values[ODD_KEYS[2]]
    await drop(store, TABLE)
    assert engine.observer.scan(table_name) == []


@pytest.mark.parametrize(
    "foreign",
    [
        {},
        {"v": {"S": "1"}},
        {"v": {"N": "1"}},
        {"v": {"BOOL": True}},
        {"x": {"N": "1"}},
        {"v": {"B": b"1"}, "x": {"S": "1"}},
        {"v": {"B": b"1"}, "x": {"N": "1.5"}},
        {"v": {"B": b"1"}, "x": {"N": "99999999999999999"}},
        {"v": {"B": b"1"}, "r": {"N": "1"}},
        {"i": {"S": "1"}},
        {"i": {"N": "1.5"}},
    ],
    ids=str,
)
async def test_foreign_data_is_not_taken_for_an_entry(store, engine, table_name, foreign):
    await put(store, TABLE, "k", Entry(b"1", None))
    (item,) = engine.observer.scan(table_name)
    strange = {"pk": item["pk"], "sk": item["sk"], **foreign}
    engine.observer.client.put_item(TableName=table_name, Item=strange)
    with pytest.raises(CorruptEntry):
        await get(store, TABLE, "k")
    await put(store, TABLE, "k", Entry(b"2", None))
    assert await get(store, TABLE, "k") == Entry(b"2", None)


async def test_a_drop_of_many_entries_leaves_everything_else(store, engine, table_name):
    """More than a page of a megabyte in a partition, and more than a batch."""
    large = Entry(b"x" * 120_000, None)
    places = [f"k{number}" for number in range(200)]
    for first in range(0, len(places), 20):
        await asyncio.gather(*(put(store, TABLE, key, large) for key in places[first : first + 20]))
    await put(store, Keyspace("tbl_ab"), "k", Entry(b"1", None))
    await store.counters.charge("tbl_a", 1, 60_000)
    await store.records.swap("tbl_a", b"1", None)
    await drop(store, TABLE)
    left = sorted(item["pk"]["S"][:8] for item in engine.observer.scan(table_name))
    assert [each[:2] for each in left] == ["c", "c", "e#", "r#", "w#"]
    assert left[2] == "e#tbl_ab"
    await drop(store, TABLE)


async def test_a_drop_follows_pages_and_resends_unprocessed_items(endpoint):
    last = {"pk": {"S": "e"}, "sk": {"S": "k29"}}
    first_page = answer({"Items": page_of(*(f"k{n}" for n in range(30))), "LastEvaluatedKey": last})
    left = {"DeleteRequest": {"Key": {"pk": {"S": "e"}, "sk": {"S": "k7"}}}}
    async with store_on(endpoint) as store:
        endpoint.script("Query", first_page, page("k7"), page("k7", "k30"))
        throttled = refusal("ProvisionedThroughputExceededException")
        unprocessed = answer({"UnprocessedItems": {"kvs-scripted": [left]}})
        endpoint.script("BatchWriteItem", unprocessed, throttled, answer(), unprocessed)
        await drop(store, TABLE)
    asked = [call.payload["ExpressionAttributeValues"][":pk"]["S"] for call in endpoint.of("Query")]
    assert asked[:3] == [asked[0]] * 3
    assert len(set(asked)) == 16
    assert len(asked) == 18
    assert not any("ExclusiveStartKey" in call.payload for call in endpoint.of("Query"))
    batches = [call.payload["RequestItems"]["kvs-scripted"] for call in endpoint.of("BatchWriteItem")]
    assert [len(batch) for batch in batches] == [25, 5, 5, 1, 2]


def page_of(*keys: str) -> list[dict]:
    return [{"pk": {"S": "e"}, "sk": {"S": key}} for key in keys]


async def test_a_drop_whose_answers_are_lost_deletes_everything(engine, table_name, monkeypatch):
    monkeypatch.setattr(client.random, "uniform", lambda low, _: low)
    async with (
        ScriptedEndpoint(engine.endpoint_url) as front,
        opened_dynamodb(front.endpoint_url, table_name) as store,
    ):
        await asyncio.gather(*(put(store, TABLE, f"k{n}", Entry(b"1", None)) for n in range(40)))
        for operation in ("Query", "BatchWriteItem"):
            front.script(operation, *[after_it_was_applied(lambda good: good.truncated())] * 3)
        await drop(store, TABLE)
    assert engine.observer.scan(table_name) == []


@pytest.mark.parametrize("strong", [True, False])
async def test_reads_of_entries_are_as_strong_as_set_and_those_of_records_always_strong(endpoint, strong):
    async with opened_dynamodb(
        endpoint.endpoint_url, "kvs-scripted", create_table=False, strong_reads=strong
    ) as store:
        endpoint.calls.clear()
        await get(store, TABLE, "k")
        await store.records.read("k")
        assert [call.payload["ConsistentRead"] for call in endpoint.of("GetItem")] == [strong, True]


async def test_reads_are_strong_unless_set_otherwise(endpoint):
    async with store_on(endpoint) as store:
        await get(store, TABLE, "k")
        assert endpoint.calls[-1].payload["ConsistentRead"] is True


async def test_every_operation_on_an_entry_is_one_call(endpoint):
    async with store_on(endpoint) as store:
        await put(store, TABLE, "k", Entry(b"1", NOW_MS))
        await get(store, TABLE, "k")
        await delete(store, TABLE, "k")
    assert [call.operation for call in endpoint.calls] == ["PutItem", "GetItem", "DeleteItem"]


@pytest.fixture(scope="module")
def sequences_table():
    """One table for all sequences, each of which has keyspaces of its own."""
    engine, name = Ministack.shared(), new_table()

    async def make() -> None:
        async with opened_dynamodb(engine.endpoint_url, name):
            pass

    asyncio.run(make())
    return engine.endpoint_url, name


@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_sequence_of_operations_behaves_like_a_dictionary(sequences_table, seed):
    engine_url, name = sequences_table

    async def run() -> None:
        clock = FakeClock(NOW_MS)
        async with opened_dynamodb(engine_url, name, clock, create_table=False) as store:
            run = Run(store, clock, is_limited=False, name=uuid4().hex)
            for act in acts_of(seed, 80):
                await run.do(act)

    asyncio.run(run())
