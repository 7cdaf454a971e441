"""The feed of changes in DynamoDB: announcements that come late, never, or are gone."""

import pytest

from backends.dynamodb import feed as feeds
from backends.dynamodb.failures import Action
from tests.backends.dynamodb.conformance import new_table, opened_dynamodb, suited_to_engines
from tests.support.clock import FakeClock
from tests.support.dynamodb import Ministack


@pytest.fixture(scope="module")
def engine():
    with suited_to_engines(), Ministack() as engine:
        yield engine


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def store(engine, clock):
    async with opened_dynamodb(engine.endpoint_url, new_table(), clock) as store:
        yield store


@pytest.fixture
def feed(store):
    return store.records._feed


async def _announce(feed, number: int, name: str) -> None:
    """As the second half of a swap that has taken this number."""
    await feed._client.call(Action.PUT, feed.announcement(number, name))


async def test_an_announcement_that_appears_behind_a_later_one_is_told_when_it_is_there(store, feed):
    here = (await store.records.changes(None)).position
    slow, quick = await feed.next_number(), await feed.next_number()
    await _announce(feed, quick, "quick")
    first = await store.records.changes(here)
    assert first.names == ("quick",)
    assert (await store.records.changes(first.position)).names == ()
    await _announce(feed, slow, "slow")
    second = await store.records.changes(first.position)
    assert (second.names, second.is_complete) == (("slow",), True)
    assert (await store.records.changes(second.position)).names == ()


async def test_a_reader_that_begins_waits_for_numbers_that_were_taken_before(store, feed):
    await store.records.swap("a", b"1", None)
    slow = await feed.next_number()
    await store.records.swap("b", b"1", None)
    here = (await store.records.changes(None)).position
    await _announce(feed, slow, "slow")
    assert (await store.records.changes(here)).names == ("slow",)


async def test_a_number_whose_changer_crashed_is_given_up_in_the_end(store, feed, clock):
    here = (await store.records.changes(None)).position
    await feed.next_number()
    await store.records.swap("a", b"1", None)
    there = (await store.records.changes(here)).position
    assert there != "2"
    clock.advance(feeds.GIVEN_UP_AFTER_MS)
    assert (await store.records.changes(there)).position == "2"


async def test_a_reader_that_was_away_for_longer_than_announcements_are_kept_is_told_so(store, feed, engine):
    await store.records.swap("a", b"1", None)
    here = (await store.records.changes(None)).position
    await store.records.swap("b", b"1", None)
    collected = {"TableName": feed._table, "Key": feeds.change_key(1)}
    await feed._client.call(Action.DELETE, collected)
    changes = await store.records.changes(here)
    assert (changes.names, changes.is_complete) == ((), False)
    assert (await store.records.changes(changes.position)).is_complete


async def test_announcements_may_be_collected_a_day_later(store, engine, feed, clock):
    await store.records.swap("a", b"1", None)
    items = engine.observer.scan(feed._table)
    [announced] = [item for item in items if item["pk"] == {"S": "c"} and "m" in item]
    assert int(announced["t"]["N"]) == (clock.wall_ms() + 86_400_000) // 1000
