"""Entries in Redis, as users see them and as Redis stores them."""

import asyncio
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import RedisSettings
from backends.clock import SystemClock
from backends.errors import CorruptEntry
from backends.interface import Entry, Keyspace
from backends.redis.backend import RedisBackend
from tests.backends.redis.conformance import opened_redis
from tests.backends.test_visible_results import ACTS, check
from tests.support.clock import FakeClock
from tests.support.purging import purge
from tests.support.redis import RedisServer

TABLE = Keyspace("tbl_a")
HOUR_MS = 3_600_000


@pytest.fixture
async def store(server):
    server.command("FLUSHALL")
    async with opened_redis(server.url) as store:
        yield store


async def _check_fresh(acts: list, server: RedisServer) -> None:
    server.command("FLUSHALL")
    clock = FakeClock()
    store = RedisBackend(RedisSettings(url=server.url), clock)
    await check(acts, store, clock)
    await store.close()


@settings(max_examples=75, deadline=None)
@given(acts=st.lists(ACTS, max_size=60))
def test_a_sequence_of_operations_behaves_like_a_dictionary(server, acts):
    asyncio.run(_check_fresh(acts, server))


async def test_an_entry_carries_its_time_to_live(server, store):
    await store.entries.put(TABLE, "k", Entry(b"1", SystemClock().wall_ms() + HOUR_MS))
    assert HOUR_MS - 2000 < server.command("PTTL", "kvs:e:tbl_a:k") <= HOUR_MS


async def test_an_entry_without_expiry_has_no_time_to_live(server, store):
    await store.entries.put(TABLE, "k", Entry(b"1", SystemClock().wall_ms() + HOUR_MS))
    await store.entries.put(TABLE, "k", Entry(b"1", None))
    assert server.command("PTTL", "kvs:e:tbl_a:k") == -1


async def test_the_stored_expiry_is_returned_whatever_the_ttl_in_redis(server, store):
    entry = Entry(b"1", SystemClock().wall_ms() + HOUR_MS)
    await store.entries.put(TABLE, "k", entry)
    server.command("PERSIST", "kvs:e:tbl_a:k")
    assert await store.entries.get(TABLE, "k") == entry


async def test_putting_an_expired_entry_removes_its_predecessor(server, store):
    await store.entries.put(TABLE, "k", Entry(b"1", None))
    await store.entries.put(TABLE, "k", Entry(b"2", SystemClock().wall_ms()))
    assert server.command("EXISTS", "kvs:e:tbl_a:k") == 0


@pytest.mark.parametrize("foreign", [b"", b"1", b"\x00" * 9, b"\x02" + struct.pack(">Q", 0) + b"{}"])
async def test_foreign_data_is_not_taken_for_an_entry(server, store, foreign):
    server.command("SET", "kvs:e:tbl_a:k", foreign)
    with pytest.raises(CorruptEntry):
        await store.entries.get(TABLE, "k")


async def test_a_list_is_not_taken_for_an_entry(server, store):
    server.command("RPUSH", "kvs:e:tbl_a:k", "x")
    with pytest.raises(CorruptEntry):
        await store.entries.get(TABLE, "k")


async def test_a_purge_of_many_entries_leaves_everything_else(server, store):
    await asyncio.gather(
        *(store.entries.put(TABLE, f"k{number}", Entry(b"1", None)) for number in range(900))
    )
    server.command("SET", "another program's", "1")
    await store.entries.put(Keyspace("tbl_ab"), "k", Entry(b"1", None))
    await store.counters.charge("tbl_a", 1, 60_000)
    await store.records.swap("tbl_a", b"1", None)
    await purge(store.entries, TABLE)
    left = {name for name in server.command("KEYS", "*") if name != b"kvs:ping2"}
    directory = {b"kvs:records", b"kvs:names:{kvs:records}", b"kvs:changes:{kvs:records}"}
    assert left == {b"another program's", b"kvs:e:tbl_ab:k", b"kvs:w:tbl_a"} | directory


def _fill(server: RedisServer, entries: int) -> None:
    names = [f"kvs:e:{TABLE}:k{number}" for number in range(entries)]
    server.command("MSET", *(part for name in names for part in (name, "1")))


async def test_a_cursor_of_another_process_restarts_the_scan_of_its_master(server, store):
    """The old cursor would skip keys: each process has a hash function of its own."""
    _fill(server, 2000)
    cursor = (await store.entries.purge([TABLE], None)).cursor
    masters, run, scan, left = cursor.split("/")
    assert run == str(server.command("INFO", "server")).partition("run_id:")[2][:40]
    step = await store.entries.purge([TABLE], f"{masters}/{'0' * 40}/{scan}/{left}")
    assert step.cursor == f"{masters}//0/{left}"
    while step.cursor is not None:
        step = await store.entries.purge([TABLE], step.cursor)
    assert server.command("KEYS", "kvs:e:*") == []


async def test_a_purge_of_many_tables_sends_no_more_scans_than_one_of_a_single_table(server, store):
    _fill(server, 3000)
    one = await purge(store.entries, Keyspace("tbl_0"))
    many = await purge(store.entries, *(Keyspace(f"tbl_{n:032x}") for n in range(500)))
    assert len(many) == len(one) <= 20
    assert sum(step.commands for step in many) == 2 * len(many)


async def test_two_prefixes_share_a_server_without_seeing_each_other(server, store):
    async with opened_redis(server.url, prefix="other") as other:
        await store.entries.put(TABLE, "k", Entry(b"1", None))
        assert await other.entries.get(TABLE, "k") is None
        await purge(other.entries, TABLE)
        assert await store.entries.get(TABLE, "k") == Entry(b"1", None)


async def test_every_name_in_redis_begins_with_the_prefix(server):
    server.command("FLUSHALL")
    async with opened_redis(server.url, prefix="team:kvs") as store:
        await store.entries.put(TABLE, "k", Entry(b"1", None))
        await store.counters.charge("b", 1, 60_000)
        await store.records.swap("r", b"1", None)
        assert all(name.startswith(b"team:kvs:") for name in server.command("KEYS", "*"))


async def test_databases_are_separate(server, store):
    async with opened_redis(server.url.removesuffix("/0") + "/3") as third:
        await third.entries.put(TABLE, "k", Entry(b"1", None))
        assert await store.entries.get(TABLE, "k") is None
