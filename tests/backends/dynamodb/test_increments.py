"""Increments in DynamoDB: one call each, however many come at once, and none of them twice."""

import asyncio
from collections import Counter

import pytest

from backends.dynamodb.tables import calls
from backends.errors import BackendUnavailable
from backends.interface import Keyspace
from backends.tables import (
    AddToEntry,
    GetEntry,
    NotInteger,
    PutEntry,
    Revisions,
    StoredEntry,
    Sum,
    Table,
)
from tests.backends.dynamodb.conformance import opened_dynamodb
from tests.backends.dynamodb.scripted import prepared_endpoint, store_on
from tests.support.dynamodb import ScriptedEndpoint
from tests.support.dynamodb.answers import refusal
from tests.support.dynamodb.endpoint import after_it_was_applied

pytestmark = pytest.mark.usefixtures("engine_credentials")

TABLE = Table("acme/shop/production", Keyspace("tbl_a"))
NOW_MS = 1_800_000_000_000
REVISIONS = Revisions()
CHANGED = refusal("ConditionalCheckFailedException")


@pytest.fixture
async def front(engine, table_name):
    """An endpoint before the engine, whose table exists."""
    async with ScriptedEndpoint(engine.endpoint_url) as front:
        yield front


@pytest.fixture
async def store(front, table_name):
    async with opened_dynamodb(front.endpoint_url, table_name) as store:
        front.calls.clear()
        yield store


def add_of(by: int = 1, expires_at_ms: int | None = None) -> AddToEntry:
    return AddToEntry("k", by, expires_at_ms, REVISIONS.next())


async def add(store, by: int = 1, expires_at_ms: int | None = None) -> Sum:
    result = await store.tables.execute(TABLE, add_of(by, expires_at_ms), NOW_MS)
    assert isinstance(result, Sum)
    return result


async def put(store, value: bytes, expires_at_ms: int | None = None) -> None:
    entry = StoredEntry(value, expires_at_ms, REVISIONS.next())
    await store.tables.execute(TABLE, PutEntry("k", entry), NOW_MS)


async def test_an_increment_is_one_call_from_the_first_on(store, front):
    assert [(await add(store)).value for _ in range(3)] == [1, 2, 3]
    assert [call.operation for call in front.calls] == ["UpdateItem"] * 3


async def test_forty_increments_at_once_are_forty_calls(store, front):
    sums = await asyncio.gather(*(add(store) for _ in range(40)))
    assert sorted(each.value for each in sums) == list(range(1, 41))
    assert Counter(call.operation for call in front.calls) == {"UpdateItem": 40}


async def test_forty_increments_at_once_of_a_value_in_bytes_all_count(store):
    await put(store, b" 2 ", NOW_MS + 60_000)
    sums = await asyncio.gather(*(add(store) for _ in range(40)))
    assert sorted(each.value for each in sums) == list(range(3, 43))
    assert {each.expires_at_ms for each in sums} == {NOW_MS + 60_000}


async def test_forty_increments_at_once_with_an_expiry_make_one_entry(store):
    sums = await asyncio.gather(*(add(store, 1, NOW_MS + 60_000 + n) for n in range(40)))
    assert sorted(each.value for each in sums) == list(range(1, 41))
    assert len({each.expires_at_ms for each in sums}) == 1


async def test_an_expired_integer_begins_again_and_only_then_takes_an_expiry(store):
    await add(store, 5, NOW_MS)
    assert (await add(store, 2, NOW_MS + 60_000)).value == 2
    assert (await add(store, 0, NOW_MS + 90_000)).expires_at_ms == NOW_MS + 60_000
    found = await store.tables.execute(TABLE, GetEntry("k"), NOW_MS)
    assert (found.value, found.expires_at_ms) == (b"2", NOW_MS + 60_000)


async def test_a_replaced_integer_can_be_added_to(store):
    await add(store, 5)
    await put(store, b"7")
    assert (await add(store)).value == 8
    await put(store, b'"text"')
    assert await store.tables.execute(TABLE, add_of(), NOW_MS) == NotInteger()


async def test_an_increment_whose_reply_was_lost_is_not_repeated(store, front):
    await add(store)
    for value in (2, 3):
        front.calls.clear()
        front.script("UpdateItem", after_it_was_applied(lambda good: good.truncated()))
        with pytest.raises(BackendUnavailable):
            await add(store)
        assert [call.operation for call in front.calls] == ["UpdateItem"]
        found = await store.tables.execute(TABLE, GetEntry("k"), NOW_MS)
        assert found.value == b"%d" % value


async def test_a_first_integer_whose_reply_was_lost_is_not_put_again(store, front):
    front.script("PutItem", after_it_was_applied(lambda good: good.truncated()))
    with pytest.raises(BackendUnavailable):
        await add(store, 4, NOW_MS + 60_000)
    assert [call.operation for call in front.calls] == ["UpdateItem", "PutItem"]
    assert (await add(store)).value == 5


@pytest.mark.virtual_time
async def test_a_race_that_is_never_won_ends_with_the_deadline(monkeypatch):
    monkeypatch.setattr("backends.dynamodb.client.CALL_SECONDS", 2.0)
    monkeypatch.setattr(calls.random, "uniform", lambda _, high: high)
    async with prepared_endpoint() as endpoint, store_on(endpoint) as store:
        endpoint.always("UpdateItem", CHANGED)
        endpoint.always("PutItem", CHANGED)
        loop = asyncio.get_running_loop()
        started = loop.time()
        with pytest.raises(BackendUnavailable, match="keeps changing"):
            await store.tables.execute(TABLE, add_of(), NOW_MS)
        assert 1.5 < loop.time() - started < 2.25
        assert 8 <= len(endpoint.of("PutItem")) <= 20
