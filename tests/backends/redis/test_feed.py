"""The change feed in Redis when its stream was trimmed, removed, replaced, or is foreign data."""

import pytest

from backends.errors import CorruptEntry
from backends.interface import Changes
from tests.backends.redis.conformance import opened_redis
from tests.support.redis import RedisServer
from tests.support.stores import first_answer

FEED = "kvs:changes:{kvs:records}"


@pytest.fixture
async def records(server):
    server.command("FLUSHALL")
    async with opened_redis(f"redis://127.0.0.1:{server.port}") as store:
        yield store.records


async def _swap(records, *names: str) -> None:
    for name in names:
        assert await records.swap(name, b"1", None)


@pytest.mark.parametrize(
    "loss",
    [
        ("DEL", FEED),
        ("XTRIM", FEED, "MAXLEN", "1"),
        ("FLUSHALL",),
    ],
    ids=["removed", "cut", "flushed"],
)
async def test_the_feed_is_incomplete_for_a_lost_position(server, records, loss):
    await _swap(records, "a")
    here = (await records.changes(None)).position
    await _swap(records, "b", "c")
    server.command(*loss)
    await _swap(records, "d")
    changes = await records.changes(here)
    assert (changes.names, changes.is_complete) == ((), False)
    await _swap(records, "e")
    assert (await records.changes(changes.position)).names == ("e",)


async def test_a_feed_replaced_in_a_failover_is_incomplete(server, records):
    """The new master lacks the last announcement and has given its id to another."""
    await _swap(records, "a", "b")
    here = (await records.changes(None)).position
    identifier = here.split(" ")[1]
    server.command("XDEL", FEED, identifier)
    server.command("DEL", FEED)
    server.command("XADD", FEED, identifier, "name", "of another change")
    assert not (await records.changes(here)).is_complete


@pytest.fixture
async def saving():
    """A server that restarts with the data of its last SAVE, and a store on it."""
    with RedisServer() as server:
        async with opened_redis(f"redis://127.0.0.1:{server.port}") as store:
            yield server, store


async def test_the_feed_is_incomplete_after_another_process_took_over(saving):
    """As after a failover: the position exists, a change that was read since does not."""
    server, store = saving
    await _swap(store.records, "a")
    here = (await store.records.changes(None)).position
    server.command("SAVE")
    await _swap(store.records, "b")
    assert await store.records.read("b") is not None
    server.kill()
    server.start()
    await first_answer(store)
    assert await store.records.read("a") is not None
    assert await store.records.read("b") is None
    assert not (await store.records.changes(here)).is_complete


async def test_a_reader_of_an_empty_feed_gets_the_first_change(records):
    here = (await records.changes(None)).position
    await _swap(records, "a")
    assert (await records.changes(here)).names == ("a",)


async def test_a_swap_that_cannot_be_announced_changes_nothing(server, records):
    server.command("SET", FEED, "something else")
    with pytest.raises(CorruptEntry):
        await records.swap("a", b"1", None)
    assert await records.read("a") is None
    with pytest.raises(CorruptEntry):
        await records.changes(None)


async def test_the_feed_keeps_about_ten_thousand_changes(server, records):
    server.command("EVAL", f"for n = 1, 15000 do redis.call('XADD', '{FEED}', '*', 'name', 'n') end", "0")
    await _swap(records, "a")
    assert 10_000 <= server.command("XLEN", FEED) <= 10_200


@pytest.mark.parametrize(
    "fields",
    [("name", b"\xff\xfe"), ("name", "x y"), ("a", "b", "c", "d")],
    ids=["no text", "blank", "others"],
)
async def test_a_foreign_announcement_hides_no_other(server, records, fields):
    await _swap(records, "a")
    here = (await records.changes(None)).position
    server.command("XADD", FEED, "*", *fields)
    assert (await records.changes(None)).position != here
    await _swap(records, "b")
    changes = await records.changes(here)
    assert (changes.names[-1], changes.is_complete) == ("b", True)
    assert await records.changes(changes.position) == Changes((), changes.position, is_complete=True)
