"""Every log line of a request carries the id of its response."""

import asyncio
import json
import logging
import threading

import pytest

from gateway.dataplane.access_log import LINES_PER_SECOND
from gateway.observability import logs
from gateway.observability.logs import current_request_id
from tests.support.config import BASE, merged
from tests.support.gateway import run_gateway
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.redis import RedisServer
from tests.support.stopwatch import PATIENCE_SECONDS

LOOP_MAKES_NO_DIFFERENCE = True


@pytest.fixture
async def logged(lines):
    """A gateway that logs every request."""
    async with run_gateway({"logging": {"access": 1.0}}) as gateway:
        yield gateway


async def test_the_access_line_carries_the_answers_id(logged, lines):
    reply = await logged.put("k", 1)
    assert [line["request_id"] for line in lines("kvs.access")] == [reply.headers["x-request-id"]]


async def test_a_failed_store_call_carries_the_answers_id(logged, lines):
    logged.faults.fail = {"get"}
    reply = await logged.get("k")
    (complaint,), (access,) = lines("kvs.stores"), lines("kvs.access")
    assert complaint["request_id"] == access["request_id"] == reply.headers["x-request-id"]


async def test_an_id_of_the_client_is_carried_by_every_line(logged, lines):
    logged.faults.fail = {"charge"}
    await logged.get("k", headers={"x-request-id": "from-the-client"})
    (complaint,), (access,) = lines("kvs.stores"), lines("kvs.access")
    assert complaint["request_id"] == access["request_id"] == "from-the-client"


async def test_an_unhandled_exception_carries_the_answers_id(logged, lines):
    logged.faults.fail, logged.faults.error = {"get"}, ZeroDivisionError
    reply = await logged.get("k")
    assert reply.status == 500
    (fault,) = lines("kvs.pipeline")
    assert fault["request_id"] == reply.headers["x-request-id"]


async def test_a_fault_outside_of_the_handler_carries_the_answers_id(logged, lines, monkeypatch):
    monkeypatch.setattr(logged.app.data.handler._access_log, "share", "not a number")
    reply = await logged.get("k")
    assert reply.status == 500
    (fault,) = lines("kvs.edge")
    assert fault["request_id"] == reply.headers["x-request-id"]


async def test_a_log_line_of_a_store_carries_the_id_of_the_request(logged, lines, monkeypatch):
    async def step(*_, **__):
        logging.getLogger("kvs.redis").warning("of the store")

    monkeypatch.setattr(logged.app.stores.backends[0].charged, "step", step)
    reply = await logged.get("k")
    assert [line["request_id"] for line in lines("kvs.redis")] == [reply.headers["x-request-id"]]


async def test_the_control_planes_lines_carry_the_answers_id(logged, lines):
    changed = await logged.manage("PUT", "/v1/orgs/acme/apps/blog", {"type": "api"})
    assert [line["request_id"] for line in lines("kvs.audit")] == [changed.headers["x-request-id"]]
    logged.faults.fail = {"read"}
    refused = await logged.manage("GET", "/v1/orgs/acme/apps/blog")
    assert refused.status == 503
    of_lookup = {line["request_id"] for line in lines("kvs.control") + lines("kvs.stores")}
    assert of_lookup == {refused.headers["x-request-id"]}


async def test_each_request_of_a_connection_has_an_id_of_its_own(logged, lines):
    replies = [await logged.get("k") for _ in range(3)]
    ids = [line["request_id"] for line in lines("kvs.access")]
    assert ids == [reply.headers["x-request-id"] for reply in replies]
    assert len(set(ids)) == 3


async def test_concurrent_requests_keep_their_own_ids(logged, lines):
    logged.faults.gate.clear()
    logged.faults.fail, logged.faults.error = {"get"}, ZeroDivisionError
    calls = [asyncio.create_task(logged.get("k", headers={"x-request-id": f"call-{n}"})) for n in range(8)]
    while logged.faults.count("charge") < 8:  # noqa: ASYNC110 - nothing signals it
        await asyncio.sleep(0.01)
    logged.faults.gate.set()
    replies = await asyncio.gather(*calls)
    of_faults = sorted(line["request_id"] for line in lines("kvs.pipeline"))
    assert of_faults == sorted(reply.headers["x-request-id"] for reply in replies)
    assert of_faults == [f"call-{n}" for n in range(8)]


async def test_work_outside_of_requests_has_no_id(logged, lines):
    logged.faults.fail = {"ping"}
    await logged.app.ops.health.check()
    assert [line for line in lines("kvs.health") if "is down" in line["message"]]
    assert not [line for line in lines("kvs.health") if "request_id" in line]


def test_a_thread_without_an_event_loop_has_no_id():
    found = []
    thread = threading.Thread(target=lambda: found.append(current_request_id()))
    thread.start()
    thread.join()
    assert found == [None]


async def test_nothing_is_kept_of_connections_that_have_ended():
    before = len(logs._connections)
    async with run_gateway() as gateway:
        await gateway.get("k")
        assert len(logs._connections) > before
    assert len(logs._connections) == before


async def test_failures_are_logged_even_if_access_is_zero(gateway, lines):
    gateway.faults.fail = {"get"}
    assert (await gateway.put("k", 1)).status == 200
    reply = await gateway.get("k")
    (line,) = lines("kvs.access")
    assert (line["status"], line["code"], line["level"]) == (503, "storage_unavailable", "warning")
    assert line["request_id"] == reply.headers["x-request-id"]
    assert line["tenant"] == ["acme", "shop", "production", "sessions"]


async def test_many_failures_are_a_bounded_number_of_lines(gateway, lines, monkeypatch):
    now_seconds = 7.0
    monkeypatch.setattr(gateway.app.data.handler._access_log._throttle, "_now_seconds", lambda: now_seconds)
    gateway.faults.fail = {"get"}
    for _ in range(3 * LINES_PER_SECOND):
        await gateway.get("k")
    assert len(lines("kvs.access")) == LINES_PER_SECOND
    now_seconds = 8.0
    await gateway.get("k")
    assert len(lines("kvs.access")) == LINES_PER_SECOND + 1


async def test_a_request_is_found_by_its_id_in_the_log_of_a_process_whose_redis_is_gone(tmp_path):
    with RedisServer() as server:
        config = merged(BASE, {"store": {"kind": "redis", "url": server.url}})
        with GatewayProcess(config, tmp_path) as process:
            async with client_of(process) as gateway:
                await _until_ready(gateway)
                server.kill()
                reply = await gateway.get("k", headers={"x-request-id": "the-one-that-failed"})
            log = process.log.read_text()
    assert reply.status == 503
    lines = [json.loads(text) for text in log.splitlines()]
    found = [line for line in lines if line.get("request_id") == "the-one-that-failed"]
    assert {line["logger"] for line in found} == {"kvs.stores", "kvs.access"}


async def _until_ready(gateway):
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await gateway.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.05)
