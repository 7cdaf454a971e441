"""The name index of records after writes of a version without it."""

import asyncio

import pytest

from backends.errors import BackendMisconfigured
from backends.paging import all_records
from tests.backends.redis.conformance import opened_redis
from tests.support.outcomes import fault_of
from tests.support.redis import RedisServer, TlsServer
from tests.support.redis.tls import COMMANDS

RECORD = b"0" * 32 + b"{}"
RECORDS, NAMES = "kvs:records", "kvs:names:{kvs:records}"
pytestmark = pytest.mark.usefixtures("empty")


def write_as_before(server: RedisServer, *names: str) -> None:
    """Writes records as the version without an index did."""
    for name in names:
        server.command("HSET", RECORDS, name, RECORD)


async def names_of(store, prefix: str = "") -> list[str]:
    return [name async for name, _ in all_records(store.records, prefix)]


async def test_a_directory_of_an_older_version_is_indexed_completely(server):
    names = [f"app/acme/{number:04d}/e" for number in range(1200)]
    write_as_before(server, *reversed(names))
    async with opened_redis(server.url) as store:
        assert await names_of(store, "app/") == names
        assert server.command("ZCARD", NAMES) == len(names)


async def test_changes_of_an_older_replica_repair_the_index(server):
    async with opened_redis(server.url) as store:
        for name in ("a", "b", "c"):
            assert await store.records.swap(name, b"1", None)
        write_as_before(server, "d")
        assert await names_of(store) == ["a", "b", "c", "d"]
        server.command("HDEL", RECORDS, "b")
        assert await names_of(store) == ["a", "c", "d"]
        server.command("HDEL", RECORDS, "c")
        write_as_before(server, "b")  # as many as before
        assert await names_of(store) == ["a", "b", "d"]


async def test_replicas_may_repair_the_index_concurrently_while_it_changes(server):
    write_as_before(server, *(f"{number:04d}" for number in range(1000)))
    async with opened_redis(server.url) as one, opened_redis(server.url) as other:

        async def change(store, kind: str) -> None:
            for number in range(100):
                assert await store.records.swap(f"{kind}{number:03d}", b"1", None)
                record = await store.records.read(f"{number:03d}0")
                await store.records.swap(f"{number:03d}0", None, record and record.version)

        await asyncio.gather(change(one, "x"), change(other, "y"), names_of(one), names_of(other))
        stored = sorted(name.decode() for name in server.command("HKEYS", RECORDS))
        assert await names_of(one) == await names_of(other) == stored
        assert server.command("ZCARD", NAMES) == len(stored)


async def test_without_rights_to_the_index_no_record_changes():
    rights = [command for command in COMMANDS if command not in ("zadd", "zrem")]
    with TlsServer(commands=rights) as server:
        async with opened_redis(server.url, ca_file=str(server.ca_file)) as store:
            assert isinstance(await fault_of(store.records.swap("a", b"1", None)), BackendMisconfigured)
            assert await store.records.read("a") is None


async def test_page_of_large_records_is_read_in_small_parts(server):
    largest = b"0" * 32 + b"[" + b" " * 300_000 + b"]"
    names = [f"app/acme/{number:04d}/e" for number in range(20)]
    for name in names:
        server.command("HSET", RECORDS, name, largest if name < names[10] else RECORD)
    async with opened_redis(server.url) as store:
        assert await names_of(store, "app/") == names
        server.command("CONFIG", "RESETSTAT")
        page = await store.records.page("app/", after="", limit=15)
        assert [(name, len(record.document)) for name, record in page] == [
            (name, 300_002 if name < names[10] else 2) for name in names[:15]
        ]
        assert await store.records.page("app/", after=names[9], limit=100)
        evalsha = server.command("INFO", "commandstats")
        assert b"cmdstat_evalsha:calls=12," in evalsha
