"""Gateways whose Redis is killed or stopped under load: every answer is right, or a 503 in time."""

import asyncio
import time
from collections import Counter

import pytest

from gateway.directory.tokens import new_token
from tests.support.config import TABLE_TOKEN
from tests.support.load import Answer, Load, client_of
from tests.support.process import PATIENT
from tests.support.redis import RedisServer
from tests.support.replicas import clients_of, log_of, new_table, replicas, until_ready
from tests.support.wire import signed_call

LATEST_SECONDS = 0.3
UNKNOWN_TOKEN = new_token()
CODES = {"storage_unavailable", "quota_unavailable", "auth_unavailable"}


@pytest.fixture
def server():
    """A server that keeps what it acknowledged."""
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        yield server


def assert_right_and_in_time(load: Load) -> None:
    assert load.lies == []
    assert {answer.status for answer in load.answers} <= {200, 503}
    refused = [answer for answer in load.answers if answer.status == 503]
    assert {answer.code for answer in refused} <= CODES
    assert {answer.retry_after for answer in refused} <= {"1"}
    latest = max(load.answers, key=lambda answer: answer.seconds)
    assert latest.seconds < LATEST_SECONDS + load.held_up, latest


def first_success(answers: list[Answer]) -> float:
    return min(answer.came_at for answer in answers if answer.status == 200)


def assert_log_names_the_fault_and_nothing_secret(process, reason: str) -> None:
    assert reason in {line.get("reason") for line in log_of(process, "kvs.redis")}
    stores = log_of(process, "kvs.stores")
    assert {line["message"] for line in stores} == {"a store call failed"}
    assert len(stores) < 30
    assert "dependency is down" in {line["message"] for line in log_of(process, "kvs.health")}
    text = process.log.read_text()
    assert not any(secret in text for secret in ("client 1", "padding", TABLE_TOKEN, "kvs_"))


async def test_redis_killed_under_load(server, tmp_path):
    async with replicas(server, tmp_path) as processes, clients_of(processes) as gateways:
        async with Load(gateways) as load:
            await asyncio.sleep(1.2)
            server.kill()
            killed = time.monotonic()
            await asyncio.sleep(2)
            await asyncio.to_thread(server.start)
            returned = time.monotonic()
            await asyncio.sleep(1.5)
        await load.check_all()
        assert_log_names_the_fault_and_nothing_secret(processes[0], "cannot be reached")
    assert_right_and_in_time(load)
    assert first_success(load.since(killed + 0.1)) < returned + 1.0
    assert {answer.status for answer in load.since(returned + 1.0)} == {200}
    statuses = Counter(answer.status for answer in load.answers)
    assert min(statuses[200], statuses[503]) > 300


async def test_redis_stopped_under_load_while_bindings_expire(server, tmp_path):
    """Code of a request with an expired binding: the directory read is the first call that waits."""
    short = {"cache_ttl_seconds": 0.1}
    async with replicas(server, tmp_path, directory=short) as processes, clients_of(processes) as gateways:
        token = await new_table(gateways[0], "posts")
        async with Load(gateways, token=token) as load:
            await asyncio.sleep(1.2)
            server.stop()
            await asyncio.sleep(0.5)
            unknown = await gateways[0].get("k", token=UNKNOWN_TOKEN)
            await asyncio.sleep(4.5)
            server.resume()
            resumed = time.monotonic()
            await asyncio.sleep(1.5)
        await load.check_all()
        assert_log_names_the_fault_and_nothing_secret(processes[0], "no answer in time")
    assert_right_and_in_time(load)
    assert (unknown.status, unknown.error) == (503, "auth_unavailable")
    assert first_success(load.since(resumed)) < resumed + 1.0
    assert {answer.status for answer in load.since(resumed + 1.0)} == {200}


async def test_a_gateway_that_starts_without_redis_lives_and_is_ready_soon_after_redis_arrives(
    server, tmp_path
):
    server.kill()
    async with replicas(server, tmp_path) as (process,), client_of(process) as gateway:
        for _ in range(10):
            assert (await gateway.ask_ops("/livez")).status == 200
            readiness = await gateway.ask_ops("/readyz")
            assert (readiness.status, readiness.json["status"]) == (503, "starting")
            refused = await gateway.put("k", 1)
            assert (refused.status, refused.error) == (503, "quota_unavailable")
            assert (await gateway.get("k", token=UNKNOWN_TOKEN)).error == "auth_unavailable"
            await asyncio.sleep(0.1)
        await asyncio.to_thread(server.start)
        await until_ready(gateway, 2.0)
        assert (await gateway.put("k", 1)).status == 200
        reached = [line for line in log_of(process, "kvs.redis") if line["message"] == "redis is connected"]
        assert len(reached) == 1


async def test_redis_restarted_while_nobody_calls_is_noticed_by_nobody(server, tmp_path):
    async with replicas(server, tmp_path, module=PATIENT) as processes, clients_of(processes) as (gateway,):
        assert (await gateway.put("k", "kept")).status == 200
        await asyncio.sleep(1.1)
        server.kill()
        await asyncio.to_thread(server.start)
        await asyncio.sleep(0.6)
        assert (await gateway.get("k")).json["value"] == "kept"
        assert (await gateway.put("k", "new")).status == 200


async def test_a_killed_gateway_loses_nothing_that_it_acknowledged(server, tmp_path):
    async with replicas(server, tmp_path, 2, module=PATIENT) as processes, clients_of(processes) as gateways:
        async with Load(gateways) as load:
            await asyncio.sleep(1.2)
            processes[1].kill()
            await asyncio.sleep(1)
        await load.check_all()
    assert load.lies == []
    outcomes = Counter(answer.status for answer in load.answers)
    assert outcomes.keys() <= {200, 0}
    assert outcomes[0] <= 8
    assert outcomes[200] > 500


async def test_connections_that_redis_closes_under_load_cost_the_calls_in_flight_and_no_more(
    server, tmp_path
):
    async with replicas(server, tmp_path, module=PATIENT) as processes, clients_of(processes) as gateways:
        async with Load(gateways, per_second=800) as load:
            for _ in range(3):
                await asyncio.sleep(1.2)
                closing = time.monotonic()
                await asyncio.to_thread(server.command, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                closed = time.monotonic()
                await asyncio.sleep(0.2)
                refused = [answer for answer in load.since(closing - 0.2) if answer.status != 200]
                assert len(refused) <= 16
                assert all(answer.sent_at < closed + load.held_up for answer in refused)
        await load.check_all()
    assert_right_and_in_time(load)


async def test_clients_that_go_away_in_the_middle_of_their_calls_disturb_nobody(server, tmp_path):
    async def call_and_go(gateway, number: int) -> None:
        for turn in range(60):
            _, writer = await gateway.connect()
            body = b'{"key": "key of a client that goes", "value": %d}' % turn
            writer.write(signed_call(gateway, "put", body, extra=()))
            await asyncio.sleep(0.0005 * (turn % (number + 2)))
            writer.transport.abort()

    async with replicas(server, tmp_path, module=PATIENT) as processes, clients_of(processes) as gateways:
        async with Load(gateways) as load:
            await asyncio.gather(*(call_and_go(gateways[0], number) for number in range(8)))
        await load.check_all()
    assert load.lies == []
    assert {answer.status for answer in load.answers} == {200}


async def test_a_gateway_ends_in_order_while_its_redis_is_stopped(server, tmp_path):
    shutdown = {"drain_seconds": 0.2, "grace_seconds": 1}
    async with replicas(server, tmp_path, shutdown=shutdown) as processes, clients_of(processes) as gateways:
        async with Load(gateways) as load:
            await asyncio.sleep(0.3)
            server.stop()
            await asyncio.sleep(0.1)
            processes[0].signal()
            assert await asyncio.to_thread(processes[0].wait, 3) == 0
        server.resume()
    assert load.lies == []
    assert {answer.status for answer in load.answers if answer.status} == {200, 503}
