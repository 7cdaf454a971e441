"""Entries in Redis, as users see them and as Redis stores them."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import RedisSettings
from backends.clock import SystemClock
from backends.errors import CorruptEntry
from backends.interface import Keyspace
from backends.redis.backend import RedisBackend
from backends.redis.entries.purging import Purging
from tests.backends.redis.conformance import opened_redis
from tests.backends.test_visible_results import ACTS, check
from tests.support import entries
from tests.support.clock import FakeClock
from tests.support.entries import Entry
from tests.support.redis import RedisServer

TABLE, OLD = Keyspace("t2_a"), Keyspace("tbl_a")
NAME = f"kvs:t:{{kvs:w:{entries.table_of(TABLE).home}}}:{TABLE}"
"""The hash of the table's entries in Redis."""
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


@pytest.mark.parametrize("foreign", [b"1", b"\x00" * 31, b"\x01" + bytes(30) + b"{}"])
async def test_foreign_data_is_not_taken_for_an_entry(server, store, foreign):
    server.command("HSET", NAME, "k", foreign)
    with pytest.raises(CorruptEntry):
        await entries.get(store, TABLE, "k")


async def test_an_empty_string_is_no_entry(server, store):
    server.command("HSET", NAME, "k", b"")
    assert await entries.get(store, TABLE, "k") is None
    await entries.put(store, TABLE, "k", Entry(b"1", None))
    assert await entries.get(store, TABLE, "k") == Entry(b"1", None)


async def test_a_list_is_not_taken_for_a_table(server, store):
    server.command("RPUSH", NAME, "x")
    with pytest.raises(CorruptEntry):
        await entries.get(store, TABLE, "k")


async def test_an_entry_remains_until_the_gateway_removes_it(server, store):
    """Redis collects nothing, so that counts and bytes stay exact."""
    await entries.put(store, TABLE, "k", Entry(b"1", SystemClock().wall_ms() + HOUR_MS))
    assert server.command("PTTL", NAME) == -1


@pytest.fixture
def purging(store):
    return Purging(store._topology, store._keys)


async def _purge(purging, *keyspaces):
    steps = [await purging.step(keyspaces, None)]
    while steps[-1].cursor is not None:
        steps.append(await purging.step(keyspaces, steps[-1].cursor))
    return steps


async def test_a_purge_of_many_entries_leaves_everything_else(server, store, purging):
    _fill(server, 900)
    server.command("SET", "another program's", "1")
    server.command("SET", "kvs:e:tbl_ab:k", "1")
    await store.counters.charge("tbl_a", 1, 60_000)
    await store.records.swap("tbl_a", b"1", None)
    await _purge(purging, OLD)
    left = {name for name in server.command("KEYS", "*") if name != b"kvs:ping2"}
    directory = {b"kvs:records", b"kvs:names:{kvs:records}", b"kvs:changes:{kvs:records}"}
    assert left == {b"another program's", b"kvs:e:tbl_ab:k", b"kvs:w:tbl_a"} | directory


def _fill(server: RedisServer, entries: int) -> None:
    names = [f"kvs:e:{OLD}:k{number}" for number in range(entries)]
    server.command("MSET", *(part for name in names for part in (name, "1")))


async def test_a_cursor_of_another_process_restarts_the_scan_of_its_master(server, purging):
    """The old cursor would skip keys: each process has a hash function of its own."""
    _fill(server, 2000)
    cursor = (await purging.step([OLD], None)).cursor
    masters, run, scan, left = cursor.split("/")
    assert run == str(server.command("INFO", "server")).partition("run_id:")[2][:40]
    step = await purging.step([OLD], f"{masters}/{'0' * 40}/{scan}/{left}")
    assert step.cursor == f"{masters}//0/{left}"
    while step.cursor is not None:
        step = await purging.step([OLD], step.cursor)
    assert server.command("KEYS", "kvs:e:*") == []


async def test_a_purge_of_many_tables_sends_no_more_scans_than_one_of_a_single_table(server, purging):
    _fill(server, 3000)
    one = await _purge(purging, Keyspace("tbl_0"))
    many = await _purge(purging, *(Keyspace(f"tbl_{n:032x}") for n in range(500)))
    assert len(many) == len(one) <= 20
    assert sum(step.commands for step in many) == 2 * len(many)


async def test_two_prefixes_share_a_server_without_seeing_each_other(server, store):
    async with opened_redis(server.url, prefix="other") as other:
        await entries.put(store, TABLE, "k", Entry(b"1", None))
        assert await entries.get(other, TABLE, "k") is None
        await entries.drop(other, TABLE)
        assert await entries.get(store, TABLE, "k") == Entry(b"1", None)


async def test_every_name_in_redis_begins_with_the_prefix(server):
    server.command("FLUSHALL")
    async with opened_redis(server.url, prefix="team:kvs") as store:
        await entries.put(store, TABLE, "k", Entry(b"1", None))
        await store.counters.charge("b", 1, 60_000)
        await store.records.swap("r", b"1", None)
        assert all(name.startswith(b"team:kvs:") for name in server.command("KEYS", "*"))


async def test_databases_are_separate(server, store):
    async with opened_redis(server.url.removesuffix("/0") + "/3") as third:
        await entries.put(third, TABLE, "k", Entry(b"1", None))
        assert await entries.get(store, TABLE, "k") is None
