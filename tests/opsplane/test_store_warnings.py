"""Warnings about a Redis server's settings follow the settings at any time."""

import pytest

from backends import RedisSettings, open_backend
from backends.backend import StoreWarning
from backends.clock import SystemClock
from tests.support.gateway import run_gateway
from tests.support.redis import RedisServer, Sentinels
from tests.support.redis.deadlines import deadlines_of
from tests.support.stores import first_answer


@pytest.fixture(autouse=True)
def deadlines():
    with deadlines_of():
        yield


@pytest.fixture(scope="module")
def server():
    with RedisServer(maxmemory="100mb") as server:
        yield server


@pytest.fixture(autouse=True)
def default_policy(server):
    server.command("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "100mb")


async def _warnings(gateway):
    """Warnings in readiness and in the metrics."""
    await gateway.app.ops.health.check()
    metrics = {
        series: value
        for series, value in (await gateway.metrics()).items()
        if series.startswith("kvs_dependency_warning")
    }
    return (await gateway.ask_ops("/readyz")).json.get("warnings"), metrics


def _series(dependency, warning):
    return f'kvs_dependency_warning{{dependency="{dependency}",warning="{warning}"}}'


@pytest.mark.parametrize("policy", ["volatile-lru", "volatile-ttl", "allkeys-lfu"])
async def test_a_redis_that_may_evict_counters_is_reported_from_the_next_check_until_it_may_not(
    server, policy
):
    store = {"kind": "redis", "url": server.url}
    async with run_gateway({"store": store}, clock=SystemClock()) as gateway:
        assert await _warnings(gateway) == (None, {_series(name, "eviction"): 0 for name in DEPENDENCIES})
        server.command("CONFIG", "SET", "maxmemory-policy", policy)
        warnings, metrics = await _warnings(gateway)
        assert warnings == {name: ["eviction"] for name in DEPENDENCIES}
        assert metrics == {_series(name, "eviction"): 1 for name in DEPENDENCIES}
        assert (await gateway.ask_ops("/readyz")).json["status"] == "ready"
        server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        assert (await _warnings(gateway))[0] is None


DEPENDENCIES = ("store", "counters", "directory")


async def test_without_maxmemory_nothing_is_evicted(server):
    server.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru", "maxmemory", "0")
    assert await _warnings_of(server.url) == {StoreWarning.EVICTION: False}


async def test_a_server_that_forbids_config_is_known_by_its_info(server):
    server.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    server.command("ACL", "SETUSER", "managed", "reset", "on", ">secret", "~*", "+@all", "-config")
    url = server.url.replace("//", "//managed:secret@")
    assert await _warnings_of(url) == {StoreWarning.EVICTION: True}


async def test_a_server_that_hides_its_settings_gets_no_warning(server):
    server.command("ACL", "SETUSER", "curt", "reset", "on", ">secret", "~*", "+@all", "-info")
    assert await _warnings_of(server.url.replace("//", "//curt:secret@")) == {}


async def test_a_new_warning_is_logged_once(server, caplog):
    server.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    store = await open_backend(RedisSettings(url=server.url), SystemClock())
    try:
        await first_answer(store)
        for _ in range(3):
            await store.ping()
    finally:
        await store.close()
    (line,) = [record for record in caplog.records if "evict" in record.message]
    assert line.fields == {"warning": "eviction"}


async def test_a_master_that_writes_without_replicas_is_reported_behind_sentinel():
    with Sentinels() as region:
        store = await open_backend(RedisSettings(url=region.url), SystemClock())
        try:
            await first_answer(store)
            assert store.warnings[StoreWarning.ISOLATED_MASTER]
            region.current_master().command("CONFIG", "SET", "min-replicas-to-write", 1)
            await store.ping()
            assert store.warnings == {StoreWarning.EVICTION: False, StoreWarning.ISOLATED_MASTER: False}
        finally:
            await store.close()


async def _warnings_of(url):
    store = await open_backend(RedisSettings(url=url), SystemClock())
    try:
        await first_answer(store)
        return store.warnings
    finally:
        await store.close()
