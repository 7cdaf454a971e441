"""Expired entries leave tables by bounded work in the background."""

import asyncio
import logging

import pytest

from backends.errors import BackendUnavailable, ChargeFailed
from backends.interface import Keyspace
from backends.redis.tables import sweeping
from backends.tables import ABSENT, GetEntry, PutEntry, StoredEntry, Table, Written
from tests.backends.redis.conformance import opened_redis
from tests.backends.redis.test_table_counts import CHARGES, NOW_MS, REVISIONS, TABLE, do, put_of
from tests.support.link import Link
from tests.support.outcomes import fault_of
from tests.support.redis.recount import recount
from tests.support.wire import until

OTHER = Table(TABLE.home, Keyspace("t2_" + "1" * 32))
pytestmark = pytest.mark.usefixtures("empty")


async def filled(server, store, number: int, table: Table = TABLE) -> None:
    """Puts entries that all expire at once."""
    for first in range(0, number, 25):
        puts = [
            put_of(f"k{each:06}", b"x" * 10, NOW_MS + 1) for each in range(first, min(first + 25, number))
        ]
        await do(store, *puts, table=table)


async def test_a_tenant_whose_entries_keep_expiring_leaks_nothing(server):
    """Twenty entries every ten seconds, each for five seconds: an hour on a clock of its own."""
    async with opened_redis(server.url) as store:
        for second in range(0, 3600, 10):
            now_ms = NOW_MS + second * 1000
            await do(store, *(put_of(f"{second}-{n}", b"1", now_ms + 5000) for n in range(20)), now_ms=now_ms)
        await until(lambda: recount(server) <= 40)


async def test_a_call_lets_other_tables_of_its_app_be_swept(server):
    async with opened_redis(server.url) as store:
        await filled(server, store, 600, OTHER)
        await do(store, GetEntry("k"), now_ms=NOW_MS + 10_000)
        await until(lambda: recount(server) == 0)


async def test_a_table_that_nobody_calls_is_tidied(server):
    async with opened_redis(server.url) as store:
        await filled(server, store, 600)
        await store.tables.tidy([TABLE, OTHER], NOW_MS + 10_000)
        assert recount(server) == 0


async def test_no_script_removes_more_than_a_bounded_number(server):
    async with opened_redis(server.url) as store:
        await filled(server, store, 2000)
        server.command("CONFIG", "RESETSTAT")
        await store.tables.tidy([TABLE], NOW_MS + 10_000)
        stats = server.command("INFO", "commandstats").decode()
        (line,) = (each for each in stats.splitlines() if each.startswith("cmdstat_hdel:"))
        assert f"calls={2000 // sweeping.SWEPT_AT_ONCE}," in line


async def test_a_put_without_room_is_stored_once_some_expired_entries_have_left(server):
    limited = Table(TABLE.home, TABLE.keyspace, 17 * 1000)
    async with opened_redis(server.url) as store:
        await filled(server, store, 1000, OTHER)
        put = PutEntry("new", StoredEntry(b"x" * 500, None, REVISIONS.next()), ABSENT)
        assert await do(store, put, table=limited, now_ms=NOW_MS + 10_000) == (Written(put.entry.revision),)
        await until(lambda: recount(server) == 1)


async def test_a_failed_sweep_is_logged_without_names_and_repeated_after_a_later_call(server, caplog):
    async with opened_redis(server.url) as store:
        await filled(server, store, 10)
        name = b"kvs:n:{kvs:w:%b}:%b" % (TABLE.home.encode(), TABLE.keyspace.encode())
        server.command("RENAME", name, "aside")
        server.command("SET", name, "foreign")
        with caplog.at_level(logging.WARNING):
            await do(store, GetEntry("k"), now_ms=NOW_MS + 10_000)
            await until(lambda: "expired entries cannot be removed" in caplog.text)
        assert TABLE.keyspace not in caplog.text
        server.command("DEL", name)
        await do(store, GetEntry("k"), now_ms=NOW_MS + 20_000)
        await until(lambda: server.command("EXISTS", name.replace(b":n:", b":x:")) == 0)


async def test_a_step_that_was_certainly_not_begun_is_a_failed_charge(server):
    async with Link(server.port) as link, opened_redis(f"redis://127.0.0.1:{link.port}/0") as store:
        await do(store, put_of("k"))
        server.command("REPLICAOF", "127.0.0.1", 1)
        try:
            assert type(await fault_of(do(store, put_of("k")))) is ChargeFailed
        finally:
            server.command("REPLICAOF", "NO", "ONE")


async def test_a_lost_reply_of_a_step_is_not_a_failed_charge_and_nothing_is_repeated(server):
    async with Link(server.port) as link, opened_redis(f"redis://127.0.0.1:{link.port}/0") as store:
        for _ in "12":
            await do(store, put_of("k"))
        link.swallow_reply_to = lambda request: b"lost" in request
        assert type(await fault_of(do(store, put_of("lost")))) is BackendUnavailable
        await asyncio.sleep(0)
    charges = int(server.command("GET", f"kvs:w:{TABLE.home}"))
    assert charges == 3
    assert CHARGES.amount == 1
    assert recount(server) == 2
