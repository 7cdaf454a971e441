"""`tables upgrade` moves tables of version 0.2 on a real Redis, and shows how far it is."""

import sys

import pytest

from backends.clock import SystemClock
from backends.interface import Keyspace
from backends.tables import Table
from gateway.cli import upgrading
from gateway.directory.declared import declared_table_id
from gateway.domain.model import Environment
from tests.backends.redis.conformance import opened_redis
from tests.backends.redis.upgrading import all_entries
from tests.support.gateway import run_gateway
from tests.support.redis import RedisServer
from tests.support.redis.version_0_2 import OldReplica

HERE = Environment("acme", "shop", "production")
OLD = Table(str(HERE), Keyspace(declared_table_id(HERE, "sessions")))
SHOP = ("--org", "acme", "--app", "shop")
ENTRIES = {f"k{number}": b"%d" % number for number in range(600)}
UPGRADED = {"org_id": "acme", "app_id": "shop", "env_id": "production", "name": "sessions", "moved": 600}


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def old(server):
    server.command("FLUSHALL")
    old = OldReplica(server)
    old.fill(OLD.keyspace, ENTRIES)
    return old


@pytest.fixture
async def gateway(server, old, monkeypatch):
    monkeypatch.setattr(upgrading, "PAUSE_SECONDS", 0)
    store = {"kind": "redis", "url": server.url}
    async with run_gateway({"store": store}, clock=SystemClock()) as gateway:
        yield gateway


async def _entries(server) -> dict[str, bytes]:
    async with opened_redis(server.url) as store:
        found = await all_entries(store.tables, OLD)
    return {key: entry.value for key, entry in found.items()}


@pytest.mark.parametrize("which", [("--all",), ("--org", "acme"), SHOP, (*SHOP, "--name", "sessions")])
async def test_the_named_tables_are_upgraded(run, server, which):
    result = await run("tables", "upgrade", *which)
    assert (result.code, result.err) == (0, "")
    carts = {**UPGRADED, "name": "carts", "moved": 0}
    assert result.json == ([UPGRADED] if "--name" in which else [UPGRADED, carts])
    assert await _entries(server) == ENTRIES


async def test_a_repeated_upgrade_moves_nothing(run):
    await run("tables", "upgrade", "--all")
    result = await run("tables", "upgrade", "--all")
    assert [table["moved"] for table in result.json] == [0, 0]


async def test_progress_is_shown_on_a_terminal(run, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    result = await run("tables", "upgrade", *SHOP, "--name", "sessions")
    assert "\racme/shop/production sessions: 600 entries moved, " in result.err
    assert result.err.endswith(" keys of the store looked at\n")


async def test_replicas_of_version_0_2_end_the_command(run, old):
    old.ping()
    result = await run("tables", "upgrade", *SHOP)
    assert (result.code, result.refusal) == (4, {"error": "old_replicas", "status": 409})


async def test_a_full_store_ends_the_command_and_loses_nothing(run, server):
    server.command("CONFIG", "SET", "maxmemory", 1)
    try:
        result = await run("tables", "upgrade", *SHOP)
    finally:
        server.command("CONFIG", "SET", "maxmemory", 0)
    assert (result.code, result.error["error"]) == (1, "storage_unavailable")
    assert "the store is full" in result.error["detail"]
    await run("tables", "upgrade", *SHOP)
    assert await _entries(server) == ENTRIES


async def test_tables_are_served_before_and_after(run, gateway, server):
    """Before the upgrade without the new operations, and without ETags; with the same token afterwards."""
    old = await gateway.get("k7")
    assert (old.status, old.json["value"], old.headers.get("ETag")) == (200, 7, None)
    stored = await gateway.put("k7", 8)
    assert (stored.status, stored.headers.get("ETag")) == (200, None)
    assert (await gateway.delete("k8")).status == 200
    refused = await gateway.call("list", {})
    assert (refused.status, refused.error) == (409, "table_needs_upgrade")
    assert "kvs-gateway tables upgrade" in refused.headers["x-kvs-error-detail"]
    await run("tables", "upgrade", *SHOP)
    found = await gateway.get("k7")
    assert (found.status, found.json["value"]) == (200, 8)
    same = {"If-Match": found.headers["ETag"]}
    assert (await gateway.call("put", {"key": "k7", "value": 9}, headers=same)).status == 200
    assert (await gateway.get("k8")).json["found"] is False
    assert len((await gateway.call("list", {"prefix": "k"})).json["entries"]) > 0
