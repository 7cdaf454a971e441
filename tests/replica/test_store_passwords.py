"""A password that is replaced in the file lets the gateway in again, without a restart."""

import asyncio

import pytest
from msgspec.structs import replace

from backends import DynamoSettings, MemorySettings, RedisSettings, open_backend
from backends.clock import SystemClock
from backends.errors import BackendError
from tests.replica.watched import watching
from tests.support import entries
from tests.support.entries import Entry
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.scraping import eventually
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.store_traffic import TABLE
from tests.support.stores import first_answer
from tests.support.wire import until

ENTRY = Entry(b"1", None)


@pytest.fixture(scope="module")
def server():
    with deadlines_of(), RedisServer() as server:
        yield server


@pytest.fixture
def user(server):
    server.command("ACL", "SETUSER", "gateway", "reset", "on", ">first", "~*", "+@all")
    return "gateway"


def url(server, password):
    return f"redis://gateway:{password}@127.0.0.1:{server.port}/0"


def rotate(server):
    server.command("ACL", "SETUSER", "gateway", "resetpass", ">second")
    server.command("CLIENT", "KILL", "USER", "gateway")


async def is_served(gateway) -> bool:
    return (await gateway.get("k")).status == 200


async def until_refused(store):
    """Raises what the store says once it does not answer."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await store.ping()
            await asyncio.sleep(0.005)


async def test_the_next_connection_uses_the_new_password(server, user):
    settings = RedisSettings(url=url(server, "first"))
    store = await open_backend(settings, SystemClock())
    try:
        await first_answer(store)
        await entries.put(store, TABLE, "k", ENTRY)
        assert store.apply(replace(settings, url=url(server, "second")))
        await entries.put(store, TABLE, "k", ENTRY)  # this connection was let in before
        rotate(server)
        await first_answer(store)
        assert await entries.get(store, TABLE, "k") == ENTRY
    finally:
        await store.close()


async def test_a_store_that_is_locked_out_is_back_when_it_is_given_the_new_password(server, user):
    settings = RedisSettings(url=url(server, "first"))
    store = await open_backend(settings, SystemClock())
    try:
        await first_answer(store)
        rotate(server)
        with pytest.raises(BackendError):
            await until_refused(store)
        assert store.apply(replace(settings, url=url(server, "second")))
        await first_answer(store)
    finally:
        await store.close()


@pytest.mark.parametrize(
    "other",
    [
        {"url": "redis://gateway:second@127.0.0.1:1/0"},
        {"url": "redis://127.0.0.1:6379/7"},
        {"url": "rediss://127.0.0.1:6379/0"},
        {"url": "redis+cluster://127.0.0.1:6379"},
        {"prefix": "other"},
    ],
)
async def test_another_store_is_not_taken_for_the_same_one_with_another_password(other):
    settings = RedisSettings(url="redis://127.0.0.1:6379/0")
    store = await open_backend(settings, SystemClock())
    try:
        assert not store.apply(replace(settings, **other))
        assert not store.apply(MemorySettings())
        assert store.apply(settings)
    finally:
        await store.close()


async def test_stores_without_a_password_are_the_same_or_are_not():
    memory = await open_backend(MemorySettings(), SystemClock())
    assert memory.apply(MemorySettings())
    assert not memory.apply(MemorySettings(max_bytes=1))
    settings = DynamoSettings(table="kvs", region="eu-central-1", endpoint_url="http://127.0.0.1:9")
    dynamodb = await open_backend(settings, SystemClock())
    try:
        assert dynamodb.apply(settings)
        assert not dynamodb.apply(replace(settings, table="other"))
    finally:
        await dynamodb.close()


async def test_a_gateway_whose_file_holds_the_new_password_needs_no_restart(server, user, caplog, tmp_path):
    caplog.set_level("INFO")
    secret = tmp_path / "password"
    secret.write_text("first")
    stores = {
        name: {
            "kind": "redis",
            "url": f"redis://gateway:${{PASSWORD:-{secret.read_text()}}}@127.0.0.1:{server.port}/{n}",
        }
        for n, name in enumerate(("store", "counters"))
    }
    async with watching(tmp_path, **stores) as watched:
        gateway = watched.gateway
        await until(lambda: gateway.app.ops.health.status == "ready")
        assert (await gateway.put("k", 1)).status == 200
        changed = {name: {"url": block["url"].replace("first", "second")} for name, block in stores.items()}
        rotate(server)
        await watched.reload(**{name: stores[name] | changed[name] for name in stores})

        await eventually(lambda: is_served(gateway))
    done = [record.fields for record in caplog.records if "was reloaded" in record.message]
    assert done == [{"needs_restart": []}]
