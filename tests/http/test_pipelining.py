"""RFC 9112, section 9.3.2: every pipelined request is answered, in order, whatever the bodies' sizes."""

import asyncio
import gc

import pytest
from aiohttp import StreamReader

from gateway.http.receiving import MAX_QUEUED_BYTES
from gateway.http.state import State
from tests.support.gateway import run_gateway
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import signed_call, until

FLOOD = 8000


def _request(number: int, body: bytes) -> bytes:
    head = (
        f"POST /v1/put HTTP/1.1\r\nHost: h\r\nx-request-id: {number}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answered(gateway, batches: list[list[int]]) -> list[int]:
    """Sends the batches of body sizes one after the other; returns the ids of all responses, in order."""
    reader, writer = await gateway.connect()
    ids, sent = [], 0
    for sizes in batches:
        writer.write(b"".join(_request(sent + number, b"x" * size) for number, size in enumerate(sizes)))
        sent += len(sizes)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(ids) < sent:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                await reader.readexactly(int(fields["content-length"]))
                ids.append(int(fields["x-request-id"]))
    writer.close()
    return ids


@pytest.mark.parametrize(
    "batches",
    [
        [[2] * 300],
        [[60_000] * 3, [2] * 32],
        [[60_000] * 40, [2] * 100],
        [[8_000] * 30, [2] * 100],
        [[2] * 50 + [60_000] * 5 + [2] * 50] * 3,
        [[60_000] * 40] * 3,
        [[131_072] * 3 + [2] * 40],
        [[2] * 31, [2] * 32, [2] * 33, [2] * 64],
    ],
)
async def test_every_pipelined_request_is_answered_in_order(gateway, batches):
    ids = await _answered(gateway, batches)
    assert ids == list(range(sum(map(len, batches))))


async def test_a_pipelining_client_does_not_keep_others_waiting(gateway):
    host, port = gateway.data.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
    writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * FLOOD)
    await reader.readuntil(b"\r\n\r\n")
    assert (await gateway.get("k")).status == 200
    answered = bytes(reader._buffer).count(b"HTTP/1.1 404")
    assert answered < FLOOD / 2
    writer.transport.abort()


async def test_a_call_behind_an_answer_that_is_not_read_is_not_carried_out():
    async with run_gateway({"edge": {"write_seconds": 0.2}}) as gateway:
        await gateway.put("big", "x" * 60_000)
        _, writer = await gateway.connect()
        writer.transport.pause_reading()
        calls = signed_call(gateway, "get", b'{"key":"big"}') * 300
        writer.write(calls + signed_call(gateway, "put", b'{"key":"after","value":1}'))
        await until(lambda: len(gateway.app.data.service.connections) > 1)
        await until(lambda: len(gateway.app.data.service.connections) == 1)
        assert (await gateway.get("after")).json["found"] is False
        writer.transport.abort()


def _bodies(size: int) -> list[StreamReader]:
    """Returns the bodies of this size that are still referenced."""
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, StreamReader) and each.total_bytes == size]


async def test_an_idle_connection_keeps_no_body(gateway):
    reader, writer = await gateway.connect()
    writer.write(_request(0, b"x" * 60_001))
    await reader.readuntil(b"\r\n\r\n")
    (connection,) = gateway.app.data.service.connections
    await until(lambda: connection.state is State.KEPT)
    await until(lambda: _bodies(60_001) == [])
    writer.close()


async def test_bodies_behind_a_call_in_flight_are_read_ahead_within_a_bound(gateway):
    """Without that, a client could fill memory with as many large bodies as there may be queued requests."""
    gateway.faults.gate.clear()
    _, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", b'{"key":"k"}', extra=()))
    await until(lambda: gateway.faults.count("charge"))
    writer.write(b"".join(_request(number, b"x" * 131_072) for number in range(60)))
    (connection,) = gateway.app.data.service.connections
    receiver = connection._receiver
    await until(lambda: receiver._paused_for)
    held = sum(body.total_bytes for _, body in receiver.queue)
    assert held <= MAX_QUEUED_BYTES + 2 * 262_144
    writer.transport.abort()
    gateway.faults.gate.set()
