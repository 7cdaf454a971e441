"""Limits on connections and on calls in flight, and clients that are slow on purpose."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from tests.support.gateway import run_gateway
from tests.support.stopwatch import Stopwatch
from tests.support.wire import head, parse_replies, read_reply, signed_call, until

BODY = b'{"key":"k"}'


@asynccontextmanager
async def connections(gateway, count: int, listener: str = "data"):
    pairs = [await gateway.connect(listener) for _ in range(count)]
    try:
        yield pairs
    finally:
        for _, writer in pairs:
            writer.close()


def assert_overloaded(reply) -> None:
    assert (reply.status, reply.json) == (503, {"error": "overloaded"})
    assert reply.headers["retry-after"] == "1"


async def test_a_connection_that_ends_makes_room():
    async with run_gateway({"edge": {"max_connections": 1}}) as gateway:
        for _ in range(5):
            async with connections(gateway, 1) as [(reader, writer)]:
                writer.write(signed_call(gateway, "get", BODY))
                assert (await read_reply(reader)).status == 200
                assert await reader.read() == b""
            await asyncio.sleep(0.01)


async def test_full_data_connections_leave_the_ops_listener_free():
    async with run_gateway({"edge": {"max_connections": 2}}) as gateway, connections(gateway, 5):
        assert (await gateway.ask_ops("/livez")).status == 200


@asynccontextmanager
async def held_calls(gateway, count: int):
    """Holds so many calls that wait for the store."""
    gateway.faults.gate.clear()
    calls = [asyncio.create_task(gateway.get("k")) for _ in range(count)]
    await until(lambda: gateway.faults.count("charge") == count)
    try:
        yield calls
    finally:
        gateway.faults.gate.set()
        await asyncio.gather(*calls)


async def test_a_call_beyond_the_limit_in_flight_is_refused_immediately():
    async with run_gateway({"edge": {"max_in_flight": 4}}) as gateway, held_calls(gateway, 4):
        watch = Stopwatch()
        reply = await gateway.get("k")
        assert watch.seconds < 0.5
        assert (reply.status, reply.error) == (503, "overloaded")
        assert reply.headers["Retry-After"] == "1"


async def test_calls_in_flight_are_answered_after_others_were_refused():
    async with run_gateway({"edge": {"max_in_flight": 2}}) as gateway:
        async with held_calls(gateway, 2) as calls:
            await gateway.get("k")
        assert [(await call).status for call in calls] == [200, 200]


async def test_a_call_that_ends_makes_room():
    async with run_gateway({"edge": {"max_in_flight": 1}}) as gateway:
        async with held_calls(gateway, 1):
            assert (await gateway.get("k")).status == 503
        assert (await gateway.get("k")).status == 200


async def test_an_overloaded_call_keeps_its_connection():
    async with (
        run_gateway({"edge": {"max_in_flight": 1}}) as gateway,
        connections(gateway, 1) as [(reader, writer)],
    ):
        async with held_calls(gateway, 1):
            writer.write(signed_call(gateway, "get", BODY, extra=()))
            assert_overloaded(await read_reply(reader))
        writer.write(signed_call(gateway, "get", BODY, extra=()))
        assert (await read_reply(reader)).status == 200


async def test_300_slow_clients_do_not_slow_down_a_good_one():
    begun = [b"", b"POST /v1/get HT", head("/v1/put", [("Host", "x"), ("Content-Length", 1000)]) + b"{"]
    async with run_gateway() as gateway, connections(gateway, 300) as slow:
        for number, (_, writer) in enumerate(slow):
            writer.write(begun[number % 3])
        watch = Stopwatch()
        for _ in range(50):
            assert (await gateway.put("k", 1)).status == 200
        assert watch.seconds < 2


def unread_socket(gateway) -> socket.socket:
    """A client with as little room for answers as the system allows."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    host, port = gateway.data.removeprefix("http://").split(":")
    client.connect((host, int(port)))
    client.setblocking(False)
    return client


def data_transports(gateway):
    return [connection._transport for connection in gateway.app.data.service.connections]


@pytest.fixture
async def big_values():
    """A gateway with a value of 60 KiB and a short deadline for unread responses."""
    changes = {
        "edge": {"write_seconds": 0.2, "head_seconds": 30, "idle_seconds": 0.3},
        "rate_limit": {"requests_per_minute": 10_000},
    }
    async with run_gateway(changes) as gateway:
        await gateway.put("k", "x" * 60_000)
        await gateway._http.close()
        await until(lambda: not data_transports(gateway))
        yield gateway


async def test_a_client_that_does_not_read_its_answers_is_cut_off(big_values):
    client = unread_socket(big_values)
    client.setblocking(True)
    await asyncio.to_thread(client.sendall, signed_call(big_values, "get", BODY, extra=()) * 200)
    await until(lambda: data_transports(big_values))
    await until(lambda: not data_transports(big_values))
    client.close()


async def test_a_client_that_does_not_read_the_rest_of_its_last_answer_is_cut_off(big_values):
    client = unread_socket(big_values)
    call = signed_call(big_values, "get", BODY, extra=())
    loop = asyncio.get_running_loop()
    await until(lambda: data_transports(big_values))
    (transport,) = data_transports(big_values)
    answered = 1
    while not transport.get_write_buffer_size():
        await loop.sock_sendall(client, call)
        answered += 1
        await until(lambda answered=answered: big_values.faults.count("get") == answered - 1)
        await asyncio.sleep(0.005)
    await until(lambda: not data_transports(big_values))
    client.close()


async def test_a_client_that_half_closes_and_does_not_read_is_cut_off(big_values):
    client = unread_socket(big_values)
    call = signed_call(big_values, "get", BODY, extra=())
    loop = asyncio.get_running_loop()
    await until(lambda: data_transports(big_values))
    (transport,) = data_transports(big_values)
    answered = 1
    while not transport.get_write_buffer_size():
        await loop.sock_sendall(client, call)
        answered += 1
        await until(lambda answered=answered: big_values.faults.count("get") == answered - 1)
        await asyncio.sleep(0.005)
    client.shutdown(socket.SHUT_WR)
    await until(lambda: not data_transports(big_values))
    client.close()


async def test_a_client_that_reads_slowly_but_in_time_gets_everything(big_values):
    reader, writer = await big_values.connect()
    calls = signed_call(big_values, "get", BODY, extra=()) * 30 + signed_call(big_values, "get", BODY)
    writer.write(calls)
    answer = b""
    while piece := await reader.read(100_000):
        answer += piece
        await asyncio.sleep(0.001)
    writer.close()
    assert [len(reply.json["value"]) for reply in parse_replies(answer)] == [60_000] * 31
