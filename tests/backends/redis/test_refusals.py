"""Refusals of Redis: each has the right code and a clear log line, and ends with its cause."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from backends.clock import SystemClock
from gateway.observability.logs import JsonFormatter
from gateway.replica import background
from tests.backends.redis.conformance import opened_redis
from tests.support.config import TABLE_TOKEN
from tests.support.gateway import run_gateway
from tests.support.link import HOST
from tests.support.redis import RedisServer
from tests.support.redis.resp import ErrorReply, encode
from tests.support.redis.scripted import ScriptedRedis
from tests.support.stopwatch import PATIENCE_SECONDS, Stopwatch
from tests.support.wire import until

KEY, VALUE, PASSWORD = "the key", "the value", "the-password"
UNAVAILABLE = {"put": "storage_unavailable", "get": "storage_unavailable", "delete": "storage_unavailable"}
NO_QUOTA = dict.fromkeys(UNAVAILABLE, "quota_unavailable")
COUNTED_ELSEWHERE = {"counters": {"kind": "memory"}}


@pytest.fixture
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture(autouse=True)
def health_is_checked_by_hand(monkeypatch):
    """Stops the health checks: a check in between would log another reason."""
    monkeypatch.setattr(background, "_HEALTH_SECONDS", 3600)


@asynccontextmanager
async def served(server: RedisServer, **changes):
    """Runs a gateway that its Redis has served once."""
    store = {"kind": "redis", "url": server.url}
    async with run_gateway({"store": store, **changes}, clock=SystemClock()) as gateway:
        await recovered(gateway, server)
        await gateway.app.ops.health.check()
        yield gateway


async def recovered(gateway, server: RedisServer, seconds: float = 2.0) -> None:
    """Fails unless service returns by itself, soon."""
    watch = Stopwatch(server.pid)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await gateway.put(KEY, VALUE)).status != 200:  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.01)
    assert watch.seconds < seconds
    assert (await gateway.get(KEY)).json["value"] == VALUE


async def codes(gateway, server: RedisServer) -> dict[str, str | None]:
    """Returns the code of each operation; fails if one takes long."""
    answers = {}
    for operation, fields in (("put", {"value": VALUE}), ("get", {}), ("delete", {})):
        watch = Stopwatch(server.pid)
        reply = await gateway.call(operation, {"key": KEY, **fields})
        assert watch.seconds < 0.35
        assert (reply.status == 200) == (reply.error is None)
        assert reply.error is None or (reply.status, reply.headers["Retry-After"]) == (503, "1")
        answers[operation] = reply.error
    return answers


def reasons(caplog, logger: str) -> set[str]:
    """Returns the reasons that a logger gave; fails if any line contains a secret."""
    for record in caplog.records:
        line = JsonFormatter().format(record)
        assert not any(secret in line for secret in (KEY, VALUE, TABLE_TOKEN, PASSWORD))
    return {
        record.fields["reason"] for record in caplog.records if record.name == logger and record.levelno > 20
    }


async def is_reported(gateway, caplog, reason: str, logger: str = "kvs.stores") -> None:
    assert reason in reasons(caplog, logger)
    await gateway.app.ops.health.check()
    assert any(each.endswith(reason) for each in reasons(caplog, "kvs.health"))
    assert (await gateway.ask_ops("/readyz")).json["dependencies"]["store"] == "down"


async def test_scripts_are_sent_again_after_a_flush(server, caplog):
    async with served(server) as gateway:
        server.command("SCRIPT", "FLUSH")
        replies = await asyncio.gather(*(gateway.put(KEY, VALUE) for _ in range(20)))
        assert [reply.status for reply in replies] == [200] * 20
    assert reasons(caplog, "kvs.stores") == set()


async def test_a_loading_server_is_unavailable_until_it_has_loaded(caplog):
    slow = {"key_load_delay": 10_000, "loading_process_events_interval_bytes": 1_024}
    with RedisServer(**slow) as server:
        async with served(server) as gateway:
            for number in range(1_000):
                server.command("SET", f"filling:{number}", "x" * 1_000)
            server.command("SAVE")
            server.kill()
            server.launch()
            await until(lambda: "is loading its data (LOADING)" in reasons(caplog, "kvs.redis"))
            assert await codes(gateway, server) == NO_QUOTA
            await is_reported(gateway, caplog, "is loading its data (LOADING)", "kvs.redis")
            server.command("CONFIG", "SET", "key-load-delay", 0)
            await asyncio.to_thread(server.wait_until_ready)
            await recovered(gateway, server, 1.0)


async def test_a_replica_refuses_charges(server, caplog):
    async with served(server) as gateway:
        server.command("REPLICAOF", HOST, 1)
        for _ in range(10):
            assert await codes(gateway, server) == NO_QUOTA
            await asyncio.sleep(0.05)
        await is_reported(gateway, caplog, "is a replica and refuses writes (READONLY)")
        server.command("REPLICAOF", "NO", "ONE")
        await recovered(gateway, server)


async def test_a_full_server_refuses_puts_and_keeps_serving_counts_gets_and_deletes(server, caplog):
    async with served(server) as gateway:
        server.command("CONFIG", "SET", "maxmemory", 1)
        for _ in range(10):
            assert (await gateway.put("new", VALUE)).error == "storage_unavailable"
        assert (await gateway.get(KEY)).json["value"] == VALUE
        assert (await gateway.delete(KEY)).status == 200
        assert (await gateway.get(KEY)).json["found"] is False
        assert reasons(caplog, "kvs.stores") == {"has reached maxmemory (OOM)"}
        server.command("CONFIG", "SET", "maxmemory", 0)
        await recovered(gateway, server)


async def test_a_full_server_counts_exactly(server):
    async with opened_redis(server.url) as store:
        server.command("CONFIG", "SET", "maxmemory", 1)
        charges = await asyncio.gather(*(store.counters.charge("b", 7, 60_000) for _ in range(50)))
        server.command("CONFIG", "SET", "maxmemory", 0)
    assert sum(charge.admitted for charge in charges) == 7


async def test_the_directory_of_a_full_server_can_be_changed_to_make_room(server):
    app = "/v1/orgs/acme/apps/blog"
    async with served(server) as gateway:
        assert (await gateway.manage("PUT", app, {"type": "api"})).status == 201
        assert (await gateway.manage("POST", f"{app}/services/kvs/tables", {"name": "posts"})).status == 201
        server.command("CONFIG", "SET", "maxmemory", 1)
        assert (await gateway.manage("POST", f"{app}/suspend")).status == 200
        assert (await gateway.manage("DELETE", f"{app}/services/kvs/tables/posts")).status == 204
        server.command("CONFIG", "SET", "maxmemory", 0)


@asynccontextmanager
async def server_that_cannot_save(**changes):
    with RedisServer(save="3600 1") as server:
        async with served(server, **changes) as gateway:
            obstacle = server.directory / "dump.rdb"
            obstacle.mkdir()
            server.command("BGSAVE")
            await until(lambda: b"rdb_last_bgsave_status:err" in server.command("INFO", "persistence"))
            yield server, gateway
            obstacle.rmdir()
            server.command("BGSAVE")
            await recovered(gateway, server)


async def test_a_server_that_cannot_save_refuses_charges(caplog):
    async with server_that_cannot_save() as (server, gateway):
        assert await codes(gateway, server) == NO_QUOTA
        await is_reported(gateway, caplog, "cannot save its data and refuses writes (MISCONF)")


async def test_a_server_that_cannot_save_serves_gets_if_counters_are_elsewhere(caplog):
    async with server_that_cannot_save(**COUNTED_ELSEWHERE) as (_, gateway):
        for _ in range(10):
            assert (await gateway.put("new", VALUE)).error == "storage_unavailable"
        assert (await gateway.get(KEY)).json["value"] == VALUE
        await is_reported(gateway, caplog, "cannot save its data and refuses writes (MISCONF)")


async def test_a_server_busy_with_a_script_is_unavailable_until_it_is_killed(caplog):
    with RedisServer(lua_time_limit=100) as server:
        async with served(server) as gateway:
            endless = asyncio.create_task(asyncio.to_thread(server.command, "EVAL", "while true do end", 0))
            await asyncio.sleep(0.2)
            for _ in range(10):
                assert await codes(gateway, server) == NO_QUOTA
            await is_reported(gateway, caplog, "is busy with a long-running script (BUSY)")
            server.command("SCRIPT", "KILL")
            with pytest.raises(ErrorReply):
                await endless
            await recovered(gateway, server)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("", PASSWORD, "requires a password (NOAUTH)"),
        (PASSWORD, "another", "rejects user and password (WRONGPASS)"),
    ],
)
async def test_a_password_that_changed_is_named_as_the_reason(caplog, before, after, reason):
    with RedisServer() as server:
        server.command("CONFIG", "SET", "requirepass", before)
        url = f"redis://:{PASSWORD}@{HOST}:{server.port}" if before else server.url
        async with served(server, store={"kind": "redis", "url": url}) as gateway:
            _lock(server, before, after)
            await until(lambda: reason in reasons(caplog, "kvs.redis"))
            assert await codes(gateway, server) == NO_QUOTA
            await is_reported(gateway, caplog, reason, "kvs.redis")
            _lock(server, after, before)
            await recovered(gateway, server)


def _lock(server: RedisServer, before: str, after: str) -> None:
    """Changes the password and disconnects all clients."""
    with socket.create_connection((HOST, server.port), timeout=PATIENCE_SECONDS) as operator:
        for command in (
            ("AUTH", before),
            ("CONFIG", "SET", "requirepass", after),
            ("CLIENT", "KILL", "TYPE", "normal"),
        ):
            operator.sendall(encode(*command))
            operator.recv(1_000)


async def test_a_gateway_beyond_maxclients_logs_it_and_connects_later(server, caplog):
    async with served(server) as gateway:
        with socket.create_connection((HOST, server.port), timeout=PATIENCE_SECONDS) as other:
            for command in (b"CONFIG SET maxclients 1", b"CLIENT KILL TYPE normal"):
                other.sendall(command + b"\r\n")
                other.recv(1_000)
            reason = "accepts no more connections (maxclients)"
            await until(lambda: reason in reasons(caplog, "kvs.redis"))
            assert await codes(gateway, server) == NO_QUOTA
            await is_reported(gateway, caplog, reason, "kvs.redis")
        await recovered(gateway, server)


@pytest.mark.parametrize(
    ("login", "database", "reason"),
    [
        ("", "99", "has no database with this number"),
        (f":{PASSWORD}@", "0", "has no password set, but was sent one"),
        (f"user:{PASSWORD}@", "0", "rejects user and password (WRONGPASS)"),
    ],
)
async def test_a_wrong_database_or_password_is_named(server, caplog, login, database, reason):
    url = f"redis://{login}{HOST}:{server.port}/{database}"
    async with run_gateway({"store": {"kind": "redis", "url": url}}, clock=SystemClock()) as gateway:
        assert await codes(gateway, server) == NO_QUOTA
        assert reasons(caplog, "kvs.redis") == {reason}
        assert (await gateway.ask_ops("/readyz")).status == 503


async def test_a_cluster_node_is_not_used_as_a_standalone_server(caplog):
    async with ScriptedRedis(lambda _: b"-MOVED 3999 127.0.0.1:6381\r\n") as node:
        store = {"kind": "redis", "url": f"redis://{HOST}:{node.port}"}
        async with run_gateway({"store": store}, clock=SystemClock()) as gateway:
            assert (await gateway.put(KEY, VALUE)).status == 503
            await gateway.app.ops.health.check()
        expected = "is part of a cluster: use a redis+cluster:// URL (MOVED)"
        assert any(
            each.endswith(expected) for each in reasons(caplog, "kvs.stores") | reasons(caplog, "kvs.health")
        )
