"""Foreign data in the gateway's keys: reported as an error of the store, or repaired."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from backends.clock import SystemClock
from backends.errors import CorruptEntry
from backends.interface import Charge
from backends.paging import all_records
from gateway.observability.logs import JsonFormatter
from tests.backends.redis.conformance import opened_redis
from tests.support.config import TABLE_TOKEN
from tests.support.gateway import run_gateway
from tests.support.redis import RedisServer
from tests.support.replicas import new_table

KEY, VALUE = "the key", "the value"
WINDOW_MS = 60_000
pytestmark = pytest.mark.usefixtures("empty")


@asynccontextmanager
async def served(server: RedisServer):
    """Runs a gateway that has served and counted a call."""
    async with run_gateway({"store": {"kind": "redis", "url": server.url}}, clock=SystemClock()) as gateway:
        assert (await gateway.put(KEY, VALUE)).status == 200
        yield gateway


def name_of(server: RedisServer, kind: str) -> bytes:
    (name,) = server.command("KEYS", f"kvs:{kind}:*")
    return name


def reasons(caplog) -> set[str]:
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert not any(secret in line for line in lines for secret in (KEY, VALUE, TABLE_TOKEN))
    return {record.fields["reason"] for record in caplog.records if record.name == "kvs.stores"}


async def test_a_counter_without_a_ttl_gets_a_full_window_and_keeps_its_count(server):
    async with opened_redis(server.url) as store:
        assert [(await store.counters.charge("b", 2, WINDOW_MS)).admitted for _ in range(3)] == [
            True,
            True,
            False,
        ]
        name = name_of(server, "w")
        assert server.command("PERSIST", name) == 1
        healed = await store.counters.charge("b", 2, WINDOW_MS)
        assert healed == Charge(admitted=False, closes_in_ms=WINDOW_MS)
        assert 0 < server.command("PTTL", name) <= WINDOW_MS
        assert server.command("GET", name) == b"2"


async def test_concurrent_charges_repair_a_counter_once(server):
    async with opened_redis(server.url) as store:
        await store.counters.charge("b", 100, WINDOW_MS)
        server.command("PERSIST", name_of(server, "w"))
        charges = await asyncio.gather(*(store.counters.charge("b", 100, WINDOW_MS) for _ in range(200)))
        assert sum(charge.admitted for charge in charges) == 99
        assert all(0 < charge.closes_in_ms <= WINDOW_MS for charge in charges)


@pytest.mark.parametrize("command", [("RPUSH", "x"), ("SET", "x")], ids=str)
async def test_foreign_data_in_place_of_a_counter_refuses_charges_until_removed(server, caplog, command):
    async with served(server) as gateway:
        name = name_of(server, "w")
        server.command("DEL", name)
        server.command(command[0], name, command[1])
        for _ in range(10):
            refused = await gateway.get(KEY)
            assert (refused.status, refused.error) == (503, "quota_unavailable")
        (reason,) = reasons(caplog)
        assert reason.startswith(("holds a value of another type", "holds something other than a counter"))
        server.command("DEL", name)
        assert (await gateway.get(KEY)).json["value"] == VALUE


@pytest.mark.parametrize("stored", [b"x", b"\x02" + bytes(20), b"\x01" + bytes(30)], ids=repr)
async def test_foreign_data_in_place_of_an_entry_can_be_replaced(server, caplog, stored):
    async with served(server) as gateway:
        server.command("HSET", name_of(server, "t"), KEY, stored)
        for _ in range(10):
            refused = await gateway.get(KEY)
            assert (refused.status, refused.error) == (503, "storage_unavailable")
        assert reasons(caplog) == {"an entry in Redis was not written by this gateway"}
        assert (await gateway.put(KEY, "new")).status == 200
        assert (await gateway.get(KEY)).json["value"] == "new"
        assert (await gateway.delete(KEY)).status == 200


async def test_foreign_data_in_place_of_a_table_refuses_its_calls_until_removed(server, caplog):
    async with served(server) as gateway:
        name = name_of(server, "t")
        server.command("DEL", name)
        server.command("RPUSH", name, "x")
        for _ in range(10):
            refused = await gateway.get(KEY)
            assert (refused.status, refused.error) == (503, "storage_unavailable")
        assert reasons(caplog) == {"holds a value of another type under this key (WRONGTYPE)"}
        server.command("DEL", name)
        assert (await gateway.get(KEY)).json["found"] is False


@pytest.mark.parametrize("record", [b"", b"x", bytes(31), b"a" * 32 + b"{"], ids=repr)
async def test_foreign_records_make_the_directory_unreadable(server, caplog, record):
    async with served(server) as gateway:
        token = await new_table(gateway, "posts")
        for name in server.command("HKEYS", "kvs:records"):
            server.command("HSET", "kvs:records", name, record)
        gateway.app.directory.bindings._cache.clear()
        refused = await gateway.get(KEY, token=token)
        assert (refused.status, refused.error) == (503, "auth_unavailable")
        assert (await gateway.get(KEY)).json["value"] == VALUE
        assert token not in caplog.text


async def test_a_records_key_of_another_type_is_a_store_error(server):
    server.command("SET", "kvs:records", "x")
    async with opened_redis(server.url) as store:
        with pytest.raises(CorruptEntry):
            await store.records.read("a")
        with pytest.raises(CorruptEntry):
            await store.records.swap("a", b"1", None)
        with pytest.raises(CorruptEntry):
            [record async for record in all_records(store.records, "")]


@pytest.mark.parametrize("foreign", [b"", b"x" * 31, b"\xff" * 100])
async def test_a_foreign_record_hides_no_other_and_can_be_replaced_and_removed(server, foreign):
    async with opened_redis(server.url) as store:
        assert await store.records.swap("m", b"1", None)
        assert await store.records.swap("o", b"2", None)
        server.command("HSET", "kvs:records", "n", foreign)
        listed = {name: record async for name, record in all_records(store.records, "")}
        assert (listed["m"].document, listed["o"].document) == (b"1", b"2")
        assert listed["n"] == await store.records.read("n")
        assert not await store.records.swap("n", b"3", "a" * 32)
        assert await store.records.swap("n", b"3", listed["n"].version)
        assert (await store.records.read("n")).document == b"3"
        server.command("HSET", "kvs:records", "n", foreign)
        assert await store.records.swap("n", None, listed["n"].version)
        assert await store.records.read("n") is None


async def test_a_record_with_a_name_that_is_not_utf8_hides_no_other(server):
    server.command("HSET", "kvs:records", b"\xe9", b"x" * 100)
    async with opened_redis(server.url) as store:
        assert await store.records.swap("n", b"1", None)
        assert await store.records.swap("\uffff", b"1", None)
        names = [name async for name, _ in all_records(store.records, "")]
        assert names == ["n", names[1], "\uffff"]
        assert await store.records.swap(names[1], None, (await store.records.read(names[1])).version)
        assert [name for name, _ in await store.records.page("n", after="n", limit=1)] == []
