"""The number of live entries of a table and their bytes, over HTTP and on each store."""

from contextlib import asynccontextmanager

import pytest

from backends.clock import SystemClock
from backends.tables import OldLayout
from tests.backends.dynamodb.conformance import new_table, opened_dynamodb, suited_to_engines
from tests.controlplane.paths import BLOG, TABLES
from tests.support.dynamodb import REGION, Ministack
from tests.support.gateway import run_gateway
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.wire import until

STATS = f"{TABLES}/posts/stats"
ELSEWHERE = f"{BLOG}x/services/kvs/tables/posts/stats"


@asynccontextmanager
async def on_memory():
    yield {"kind": "memory"}


@asynccontextmanager
async def on_redis():
    with RedisServer() as server, deadlines_of():
        yield {"kind": "redis", "url": server.url}


@asynccontextmanager
async def on_dynamodb():
    with suited_to_engines():
        url, table = Ministack.shared().endpoint_url, new_table()
        async with opened_dynamodb(url, table):
            yield {"kind": "dynamodb", "table": table, "region": REGION, "endpoint_url": url}


async def _table(gateway) -> str:
    """Creates the table, and returns its token."""
    await gateway.manage("PUT", BLOG, {"type": "api", "max_bytes": 100_000})
    return (await gateway.manage("POST", TABLES, {"name": "posts"})).json["token"]


@pytest.mark.parametrize("store", [on_memory, on_redis, on_dynamodb], ids=lambda store: store.__name__)
async def test_a_table_is_counted_on_each_store(store):
    async with store() as config, run_gateway({"store": config}, clock=SystemClock()) as gateway:
        await until(lambda: gateway.app.ops.health.status.value == "ready")
        token = await _table(gateway)
        for key in ("ä", "key"):
            assert (await gateway.put(key, "value", token=token)).status == 200
        for _ in range(2):
            await gateway.app.directory.sweeper.run()
        counted = (await gateway.manage("GET", STATS)).json
        is_exact = config["kind"] != "dynamodb"
        assert counted == {"entries": 2, "bytes": 19, "counted_at": counted["counted_at"], "exact": is_exact}
        assert counted["counted_at"].endswith("Z")
        used = (await gateway.ask_ops("/metrics/usage")).body
        tenant = b'{org="acme",app="blog",env="production"}'
        for name, value in {b"entries": 2, b"bytes": 19, b"limit_bytes": 100_000}.items():
            assert b"kvs_storage_%b%b %d\n" % (name, tenant, value) in used


async def test_an_empty_table_has_nothing(gateway):
    await _table(gateway)
    counted = (await gateway.manage("GET", STATS)).json
    assert (counted["entries"], counted["bytes"]) == (0, 0)


async def test_expired_entries_are_not_counted(gateway):
    token = await _table(gateway)
    await gateway.put("a", 1, 60, token=token)
    await gateway.put("b", 1, token=token)
    gateway.clock.advance(60_000)
    assert (await gateway.manage("GET", STATS)).json["entries"] == 1


async def test_a_table_of_the_old_layout_is_409(gateway, monkeypatch):
    await _table(gateway)

    async def count(*_) -> OldLayout:
        return OldLayout()

    monkeypatch.setattr(gateway.app.stores.backends[0].tables, "count", count)
    reply = await gateway.manage("GET", STATS)
    assert (reply.status, reply.error) == (409, "table_needs_upgrade")
    assert "kvs-gateway tables upgrade" in reply.headers["x-kvs-error-detail"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"{TABLES}/nothing/stats", "table_not_found"),
        (ELSEWHERE, "app_not_found"),
    ],
)
async def test_an_unknown_table_or_app_is_404(gateway, path, code):
    await _table(gateway)
    reply = await gateway.manage("GET", path)
    assert (reply.status, reply.error) == (404, code)


async def test_a_store_that_fails_is_503(gateway):
    await _table(gateway)
    gateway.faults.fail = {"count"}
    assert (await gateway.manage("GET", STATS)).status == 503
