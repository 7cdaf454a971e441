"""RFC 9112, section 9.6: a client that half-closes is answered first, then the connection ends (D68)."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from backends.clock import SystemClock
from tests.support.gateway import run_gateway
from tests.support.redis import RedisServer
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import head, parse_replies, signed_call, until

LATER = 2 * PATIENCE_SECONDS
"""So late are deadlines of the edge that what ends within a test has not ended by them."""

PUT, GET = b'{"key":"k","value":1}', b'{"key":"k"}'


async def answers_to(gateway, data: bytes):
    """Returns the replies to a client that sends all of `data` and half-closes."""
    reader, writer = await gateway.connect()
    writer.write(data)
    writer.write_eof()
    async with asyncio.timeout(PATIENCE_SECONDS):
        received = await reader.read()
    writer.close()
    return parse_replies(received)


@pytest.fixture
async def gateway():
    edge = {"head_seconds": LATER, "body_seconds": LATER, "idle_seconds": LATER}
    async with run_gateway({"edge": edge}) as running:
        yield running


@asynccontextmanager
async def on_memory():
    async with run_gateway() as gateway:
        yield gateway


@asynccontextmanager
async def on_redis():
    with RedisServer() as server:
        store = {"kind": "redis", "url": server.url}
        async with run_gateway({"store": store}, clock=SystemClock()) as gateway:
            yield gateway


@pytest.mark.parametrize("on_store", [on_memory, on_redis])
async def test_a_client_that_half_closes_gets_its_answer_from_memory_and_from_redis(on_store):
    async with on_store() as gateway:
        while (await gateway.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110 - asked over HTTP
            await asyncio.sleep(0.02)
        for _ in range(3):
            (stored,) = await answers_to(gateway, signed_call(gateway, "put", PUT, extra=()))
            assert stored.status == 200
        (found,) = await answers_to(gateway, signed_call(gateway, "get", GET, extra=()))
        assert found.json["value"] == 1


async def test_the_answer_may_take_as_long_as_the_store(gateway):
    gateway.faults.gate.clear()
    answering = asyncio.create_task(answers_to(gateway, signed_call(gateway, "get", GET, extra=())))
    await until(lambda: gateway.faults.count("charge"))
    await asyncio.sleep(0.05)
    gateway.faults.gate.set()
    (reply,) = await answering
    assert reply.status == 200


async def test_all_pipelined_requests_are_answered_before_the_end(gateway):
    call = signed_call(gateway, "get", GET, extra=())
    replies = await answers_to(gateway, call * 100)
    assert [reply.status for reply in replies] == [200] * 100


async def test_half_a_head_behind_a_request_is_not_waited_for(gateway):
    call = signed_call(gateway, "get", GET, extra=())
    (reply,) = await answers_to(gateway, call + call[:50])
    assert reply.status == 200


@pytest.mark.parametrize("begun", [b"", b"POST /v1/g"])
async def test_a_client_that_half_closes_without_a_whole_request_is_closed(gateway, begun):
    assert await answers_to(gateway, begun) == []


async def test_half_a_body_is_refused_immediately(gateway):
    fields = [("Host", "x"), ("Content-Length", 100)]
    (reply,) = await answers_to(gateway, head("/v1/put", fields) + b"{")
    assert (reply.status, reply.error, reply.closes) == (400, "bad_request", True)


async def test_an_idle_client_that_half_closes_is_closed(gateway):
    reader, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", GET, extra=()))
    await reader.readuntil(b"}")
    writer.write_eof()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await reader.read() == b""
    writer.close()


async def test_the_call_of_a_client_that_is_gone_is_carried_out_and_nothing_is_logged(gateway, lines):
    """To the gateway its end looks like a half-close until the response meets a reset."""
    gateway.faults.gate.clear()
    host, port = gateway.data.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(signed_call(gateway, "put", PUT, extra=()))
        await until(lambda: gateway.faults.count("charge"))
    await asyncio.sleep(0.01)
    gateway.faults.gate.set()
    await until(lambda: not gateway.app.drain.calls)
    assert (await gateway.get("k")).json["value"] == 1
    assert lines("kvs.edge") == []


@pytest.mark.parametrize("listener", ["ops", "control"])
async def test_the_other_listeners_answer_alike(gateway, listener):
    reader, writer = await gateway.connect(listener)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    writer.write_eof()
    async with asyncio.timeout(PATIENCE_SECONDS):
        (reply,) = parse_replies(await reader.read())
    writer.close()
    assert reply.status == (200 if listener == "ops" else 401)
