"""Conditional writes of entries: one call each, also on entries that version 0.2 wrote."""

import asyncio

import pytest

from backends.dynamodb.items import entry_key
from backends.errors import BackendUnavailable
from backends.interface import Keyspace
from backends.tables import (
    ABSENT,
    PRESENT,
    AddToEntry,
    Condition,
    DeleteEntry,
    GetEntry,
    ListEntries,
    PutEntry,
    Removed,
    Revisions,
    StoredEntry,
    Sum,
    Table,
    TouchEntry,
    Unmet,
    Written,
)
from tests.backends.dynamodb.conformance import opened_dynamodb
from tests.backends.dynamodb.scripted import store_on
from tests.support.dynamodb.answers import answer, refusal

pytestmark = pytest.mark.usefixtures("engine_credentials")

TABLE = Table("acme/shop/production", Keyspace("tbl_a"))
NOW_MS = 1_800_000_000_000
REVISIONS = Revisions()
LIVE = {"v": {"B": "MQ=="}, "r": {"S": "live"}}
EXPIRED = {**LIVE, "x": {"N": str(NOW_MS)}}


def put_of(value: bytes = b"2", condition: Condition = PRESENT) -> PutEntry:
    return PutEntry("k", StoredEntry(value, None, REVISIONS.next()), condition)


def writes_under(condition: Condition) -> list[tuple[str, PutEntry | DeleteEntry | TouchEntry]]:
    return [
        ("PutItem", put_of(condition=condition)),
        ("DeleteItem", DeleteEntry("k", condition)),
        ("UpdateItem", TouchEntry("k", None, REVISIONS.next(), condition)),
    ]


@pytest.mark.parametrize("condition", [PRESENT, Condition(revision="r" * 22)])
async def test_a_conditional_write_is_one_call(endpoint, condition):
    async with store_on(endpoint) as store:
        for action, write in writes_under(condition):
            endpoint.calls.clear()
            assert isinstance(await store.tables.execute(TABLE, write, NOW_MS), Written | Removed)
            assert [call.operation for call in endpoint.calls] == [action]


@pytest.mark.parametrize(
    ("item", "revision"), [(None, None), (LIVE, "live"), (EXPIRED, None)], ids=["none", "live", "expired"]
)
async def test_a_refused_write_learns_the_live_revision_from_the_same_call(endpoint, item, revision):
    refused = refusal("ConditionalCheckFailedException", **({} if item is None else {"Item": item}))
    async with store_on(endpoint) as store:
        for action, write in writes_under(Condition(revision="r" * 22)):
            endpoint.calls.clear()
            endpoint.script(action, refused)
            assert await store.tables.execute(TABLE, write, NOW_MS) == Unmet(revision)
            assert [call.operation for call in endpoint.calls] == [action]


# ---- Entries of version 0.2


@pytest.fixture
async def store(engine, table_name):
    async with opened_dynamodb(engine.endpoint_url, table_name) as store:
        yield store


@pytest.fixture
def old(store, engine, table_name):
    """Puts an item as version 0.2 did."""

    async def old(value: bytes = b"1", expires_at_ms: int | None = None) -> None:
        item = {**entry_key(TABLE.keyspace, "k"), "v": {"B": value}}
        if expires_at_ms is not None:
            item["x"] = {"N": str(expires_at_ms)}
        await asyncio.to_thread(engine.observer.client.put_item, TableName=table_name, Item=item)

    return old


async def revision_of(store) -> str:
    found = await store.tables.execute(TABLE, GetEntry("k"), NOW_MS)
    assert isinstance(found, StoredEntry)
    return found.revision


async def test_an_old_entry_has_a_revision_by_value_and_expiry_that_no_write_gives(store, old):
    revisions = []
    for value, expires_at_ms in ((b"1", None), (b"2", None), (b"1", NOW_MS + 1), (b"1", NOW_MS + 2)):
        await old(value, expires_at_ms)
        revisions.append(await revision_of(store))
        assert await revision_of(store) == revisions[-1]
    assert len(set(revisions)) == 4
    for revision in revisions:
        assert revision.startswith("0.")
        assert 1 <= len(revision) <= 32
        assert revision.isascii()
    assert "." not in REVISIONS.next()


@pytest.mark.parametrize("expires_at_ms", [None, NOW_MS + 60_000])
async def test_writes_under_the_revision_of_an_old_entry_are_done_once(store, old, expires_at_ms):
    for number in range(3):
        await old(b"1", expires_at_ms)
        condition = Condition(revision=await revision_of(store))
        _, write = writes_under(condition)[number]
        assert isinstance(await store.tables.execute(TABLE, write, NOW_MS), Written | Removed)
        assert isinstance(await store.tables.execute(TABLE, write, NOW_MS), Unmet)


async def test_a_write_under_the_revision_of_an_old_entry_fails_once_that_was_replaced(store, old):
    await old(b"1")
    condition = Condition(revision=await revision_of(store))
    await old(b"2")
    live = await revision_of(store)
    for _, write in writes_under(condition):
        assert await store.tables.execute(TABLE, write, NOW_MS) == Unmet(live)
    assert await revision_of(store) == live


async def test_of_racing_writers_of_an_old_entry_exactly_one_wins(store, old):
    await old(b"1")
    condition = Condition(revision=await revision_of(store))
    rivals = [store.tables.execute(TABLE, put_of(b"%d" % n, condition), NOW_MS) for n in range(10)]
    results = await asyncio.gather(*rivals)
    assert [type(each) for each in results].count(Written) == 1


async def test_an_old_entry_takes_every_other_operation(store, old):
    listing = ListEntries("", "", 10, has_values=True, page_bytes=1000)
    for write in (
        put_of(),
        TouchEntry("k", NOW_MS + 1, REVISIONS.next()),
        AddToEntry("k", 1, None, REVISIONS.next()),
    ):
        await old(b"1", NOW_MS + 60_000)
        page = await store.tables.execute(TABLE, listing, NOW_MS)
        assert [entry.revision for _, entry in page.entries] == [await revision_of(store)]
        unmet = await store.tables.execute(TABLE, put_of(condition=ABSENT), NOW_MS)
        assert unmet == Unmet(await revision_of(store))
        assert isinstance(await store.tables.execute(TABLE, write, NOW_MS), Written | Sum)
        assert "." not in await revision_of(store)
    await old(b"1", NOW_MS)
    assert await store.tables.execute(TABLE, put_of(), NOW_MS) == Unmet(None)


async def test_a_touch_if_absent_writes_nothing(store, old):
    touch = TouchEntry("k", None, REVISIONS.next(), ABSENT)
    await store.tables.execute(TABLE, touch, NOW_MS)
    assert isinstance(await store.tables.execute(TABLE, put_of(condition=ABSENT), NOW_MS), Written)
    live = await revision_of(store)
    assert await store.tables.execute(TABLE, touch, NOW_MS) == Unmet(live)
    assert await revision_of(store) == live


async def test_a_lost_reply_of_a_race_is_not_taken_for_a_loss(endpoint):
    """The write may have been applied, so nothing is attempted again."""
    old_item = {"Item": {"sk": {"S": "k"}, "v": {"B": "MQ=="}}}
    async with store_on(endpoint) as store:
        endpoint.always("GetItem", answer(old_item))
        condition = Condition(revision=await revision_of(store))
        endpoint.script("PutItem", refusal("InternalServerError"))
        endpoint.calls.clear()
        with pytest.raises(BackendUnavailable):
            await store.tables.execute(TABLE, put_of(b"2", condition), NOW_MS)
        assert [call.operation for call in endpoint.calls] == ["GetItem", "PutItem"]
