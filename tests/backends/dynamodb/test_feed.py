"""The feed of changes in DynamoDB: announcements that come late, never, are gone, or somebody else's."""

import asyncio
from contextlib import suppress

import pytest

from backends.dynamodb import feed as feed_module
from backends.dynamodb import transport
from backends.dynamodb.announcements import DOUBTED_AFTER_MS, GIVEN_UP_AFTER_MS
from backends.dynamodb.failures import Action
from backends.dynamodb.items import change_counter_key, change_key
from backends.errors import BackendError
from tests.backends.dynamodb.conformance import new_table, opened_dynamodb, suited_to_engines
from tests.support.clock import YEAR_2100_MS, FakeClock
from tests.support.dynamodb import Ministack


@pytest.fixture(scope="module")
def engine():
    with suited_to_engines():
        yield Ministack.shared()


@pytest.fixture
def clock():
    return FakeClock(YEAR_2100_MS)


@pytest.fixture
async def store(engine, clock):
    async with opened_dynamodb(engine.endpoint_url, new_table(), clock) as store:
        yield store


@pytest.fixture
def feed(store):
    return store.records._feed


async def _announce(feed, number: int, name: str) -> None:
    """Completes a swap that has taken this number."""
    await feed._client.call(Action.PUT, feed.announcement(number, name))


async def test_an_announcement_that_appears_behind_a_later_one_is_delivered_when_it_appears(store, feed):
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
    clock.advance(GIVEN_UP_AFTER_MS)
    assert (await store.records.changes(there)).position == "2"


async def _remove(feed, key) -> None:
    await feed._client.call(Action.DELETE, {"TableName": feed._table, "Key": key})


async def _write(feed, **item) -> None:
    """Somebody else does."""
    item = {"pk": {"S": "c"}, **item}
    await feed._client.call(Action.PUT, {"TableName": feed._table, "Item": item})


async def test_an_announcement_that_is_gone_makes_the_feed_incomplete_once(store, feed, clock):
    here = (await store.records.changes(None)).position
    await store.records.swap("a", b"1", None)
    await store.records.swap("b", b"1", None)
    await _remove(feed, change_key(1))
    first = await store.records.changes(here)
    assert (first.names, first.is_complete) == (("b",), True)
    clock.advance(DOUBTED_AFTER_MS)
    second = await store.records.changes(first.position)
    assert (second.names, second.is_complete) == ((), False)
    clock.advance(1000)
    assert (await store.records.changes(second.position)).is_complete


async def test_a_reader_that_missed_collected_announcements_begins_again(store, feed):
    here = (await store.records.changes(None)).position
    for _ in range(60):
        await feed.next_number()
    changes = await store.records.changes(here)
    assert (changes.names, changes.is_complete) == ((), False)
    assert (await store.records.changes(changes.position)).is_complete


async def test_a_reader_of_an_emptied_feed_receives_the_next_change(store, feed):
    for name in ("a", "b"):
        await store.records.swap(name, b"1", None)
    for number in (1, 2):
        await _remove(feed, change_key(number))
    here = (await store.records.changes(None)).position
    await store.records.swap("c", b"1", None)
    changes = await store.records.changes(here)
    assert (changes.names, changes.is_complete) == (("c",), True)


async def test_the_last_number_that_was_given_is_waited_for_before_another_is_announced(store, feed):
    here = (await store.records.changes(None)).position
    slow = await feed.next_number()
    there = (await store.records.changes(here)).position
    await _announce(feed, slow, "slow")
    assert (await store.records.changes(there)).names == ("slow",)


@pytest.mark.parametrize("name", [{}, {"m": {"N": "1"}}, {"m": {"L": [{"S": "a"}]}}], ids=repr)
async def test_a_foreign_item_in_place_of_an_announcement_makes_the_feed_incomplete(
    store, feed, name, caplog
):
    here = (await store.records.changes(None)).position
    await store.records.swap("a", b"1", None)
    await store.records.swap("b", b"1", None)
    await _write(feed, sk=change_key(1)["sk"], **name)
    for _ in range(2):
        changes = await store.records.changes(here)
        assert (changes.names, changes.is_complete) == (("b",), False)
    assert [record.fields for record in caplog.records] == [{"item": change_key(1)["sk"]["S"]}]
    assert (await store.records.changes(changes.position)).is_complete


@pytest.mark.parametrize("sort_key", ["7", "foreign", "0" * 19 + "x", "5" * 20, "9" * 20, "9" * 30])
@pytest.mark.parametrize("name", [{}, {"m": {"S": "a name"}}], ids=repr)
async def test_a_foreign_item_hides_no_change(store, feed, sort_key, name):
    here = (await store.records.changes(None)).position
    await _write(feed, sk={"S": sort_key}, **name)
    await store.records.swap("a", b"1", None)
    changes = await store.records.changes(here)
    assert (changes.names, changes.is_complete) == (("a",), True)
    begun = (await store.records.changes(None)).position
    await store.records.swap("b", b"1", None)
    for position in (changes.position, begun):
        changes = await store.records.changes(position)
        assert (changes.names, changes.is_complete) == (("b",), True)


HUGE = {"L": [{"N": "1e125"}] * 1000}
"""Three bytes for each number in the table, 126 digits in a reply."""


@pytest.fixture
def short_replies(monkeypatch) -> None:
    monkeypatch.setattr(transport, "LARGEST_REPLY_BYTES", 50_000)


@pytest.mark.parametrize("sort_key", ["foreign", change_key(2)["sk"]["S"], change_key(9)["sk"]["S"]])
@pytest.mark.parametrize("attribute", ["m", "n", "other"])
@pytest.mark.usefixtures("short_replies")
async def test_a_foreign_item_too_large_for_a_reply_hides_no_change(store, feed, caplog, sort_key, attribute):
    await store.records.swap("a", b"1", None)
    here = (await store.records.changes(None)).position
    await _write(feed, sk={"S": sort_key}, **{attribute: HUGE})
    await store.records.swap("b", b"1", None)
    changes = await store.records.changes(here)
    assert changes.names == ("b",)
    assert changes.is_complete == (sort_key != change_key(2)["sk"]["S"])
    begun = await store.records.changes(None)
    assert changes.foreign == begun.foreign == 1
    assert [record.fields for record in caplog.records] == [{"item": sort_key}]
    await store.records.swap("c", b"1", None)
    for position in (changes.position, begun.position):
        changes = await store.records.changes(position)
        assert changes.names[-1:] == ("c",)


async def test_foreign_items_that_end_a_query_before_the_counter_hide_no_change(store, feed, monkeypatch):
    monkeypatch.setattr(feed_module, "MAX_CHANGES", 5)
    here = (await store.records.changes(None)).position
    for number in range(10):
        await _write(feed, sk={"S": f"foreign {number}"}, m={"S": "a name"})
    for name in ("a", "b"):
        await store.records.swap(name, b"1", None)
        changes = await store.records.changes(here)
        assert (changes.names, changes.is_complete) == ((name,), True)
        here = changes.position


async def test_an_announcement_that_is_awaited_leaves_the_answer_unsettled(store, feed, clock):
    here = (await store.records.changes(None)).position
    slow = await feed.next_number()
    ages = []
    for _ in range(DOUBTED_AFTER_MS // 1000 + 2):
        changes = await store.records.changes(here)
        ages.append((changes.unsettled_ms, changes.is_complete))
        here = changes.position
        clock.advance(1000)
    assert ages == [(0, True), (1000, True), (2000, True), (None, False), (None, True)]
    await _announce(feed, slow, "slow")
    assert (await store.records.changes(here)).names == ("slow",)


async def test_a_number_that_somebody_else_has_taken_is_passed(store, feed):
    await _write(feed, sk=change_key(2)["sk"], m={"S": "a name"})
    await store.records.swap("a", b"1", None)
    here = (await store.records.changes(None)).position
    assert await store.records.swap("b", b"1", None)
    changes = await store.records.changes(here)
    assert changes.names == ("a name", "b")


@pytest.mark.parametrize("changes_before", [3, 70])
async def test_changes_are_delivered_after_the_counter_was_removed(store, feed, clock, changes_before):
    for number in range(changes_before):
        await store.records.swap(f"before {number}", b"1", None)
    position = (await store.records.changes(None)).position
    await _remove(feed, change_counter_key())
    for name in ("a", "b", "c"):
        assert await store.records.swap(name, b"1", None)
        changes = await store.records.changes(position)
        assert name in changes.names or not changes.is_complete
        position = changes.position
    clock.advance(DOUBTED_AFTER_MS)
    position = (await store.records.changes(position)).position
    assert (await store.records.changes(position)).is_complete


@pytest.mark.usefixtures("short_replies")
@pytest.mark.parametrize(
    "count",
    [{"S": "many"}, {"N": "1e25"}, {"N": "-5"}, {"N": "0.5"}, HUGE],
    ids=lambda count: repr(count)[:20],
)
async def test_while_the_counter_is_unreadable_nothing_is_changed_and_the_feed_is_incomplete(
    store, feed, count
):
    here = (await store.records.changes(None)).position
    await _write(feed, sk=change_counter_key()["sk"], n=count)
    with pytest.raises(BackendError):
        await store.records.swap("a", b"1", None)
    assert await store.records.read("a") is None
    for _ in range(3):
        changes = await store.records.changes(here)
        assert not changes.is_complete
        here = changes.position


class _Crash(BaseException):
    """The process ended here."""


@pytest.mark.parametrize(("steps", "is_late"), [(n, is_late) for n in range(4) for is_late in (False, True)])
async def test_a_swap_that_crashes_at_any_step_is_announced_or_changes_nothing(
    store, clock, monkeypatch, steps, is_late
):
    """Taking a number, the transaction, giving the number back."""
    feed = store.records._feed
    assert await store.records.swap("a", b"1", None)
    version = "late" if is_late else (await store.records.read("a")).version
    here = (await store.records.changes(None)).position
    call, left = feed._client.call, steps

    async def crashing(action, request):
        nonlocal left
        if left == 0:
            raise _Crash
        left -= 1
        return await call(action, request)

    monkeypatch.setattr(feed._client, "call", crashing)
    with suppress(_Crash):
        await store.records.swap("a", b"2", version)
    monkeypatch.undo()
    answer = await store.records.changes(here)
    is_changed = (await store.records.read("a")).document == b"2"
    assert is_changed == (steps > 1 and not is_late)
    assert answer.names == (("a",) if is_changed else ())
    clock.advance(DOUBTED_AFTER_MS)
    is_missing = "@" in answer.position
    assert is_missing == (steps in (1, 2) if is_late else steps == 1)
    assert (await store.records.changes(answer.position)).is_complete != is_missing


async def test_a_swap_without_a_reply_gives_its_number_back_and_is_not_made_later(store, feed, monkeypatch):
    """A write still under way is refused once its number was given back."""
    call, sent = feed._client.call, []

    async def losing(action, request):
        if action is Action.TRANSACT:
            sent.append(request)
            raise BackendError("no answer in time")
        return await call(action, request)

    here = (await store.records.changes(None)).position
    monkeypatch.setattr(feed._client, "call", losing)
    with pytest.raises(BackendError):
        await store.records.swap("a", b"1", None)
    await asyncio.gather(*feed._giving_back)
    monkeypatch.undo()
    with pytest.raises(Exception, match="condition"):
        await feed._client.call(Action.TRANSACT, sent[0])
    assert await store.records.read("a") is None
    changes = await store.records.changes(here)
    assert (changes.names, changes.position, changes.is_complete) == ((), "1", True)


async def test_announcements_may_be_collected_a_day_later(store, engine, feed, clock):
    await store.records.swap("a", b"1", None)
    items = engine.observer.scan(feed._table)
    [announced] = [item for item in items if item["pk"] == {"S": "c"} and "m" in item]
    assert int(announced["t"]["N"]) == (clock.wall_ms() + 86_400_000) // 1000
