"""Bytes that complete no head and bring no body forward are bounded."""

import asyncio

import pytest

from gateway.http.receiving import MAX_FRAMING_BYTES
from gateway.http.state import Input
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import chunked, head, parse_replies, read_reply, signed_call, signed_fields, until

BODY = b'{"key":"k"}'
UNFINISHED = b"POST /v1/get HTTP/1.1\r\nHost: x\r\n"
LINE = b"X: " + b"y" * 7_000 + b"\r\n"
LINES = LINE * 12
assert len(LINES) > 5 * MAX_FRAMING_BYTES


async def answers_to(gateway, *pieces: bytes):
    """Returns the replies to pieces that arrive one by one, until the connection is closed."""
    reader, writer = await gateway.connect()
    received = asyncio.create_task(reader.read())
    for piece in pieces:
        if received.done():  # a client that goes on writing is reset
            break
        writer.write(piece)
        await asyncio.sleep(0.01)
    async with asyncio.timeout(PATIENCE_SECONDS):
        replies = parse_replies(await received)
    writer.close()
    return replies


def assert_bad_request(reply) -> None:
    assert (reply.status, reply.json, reply.closes) == (400, {"error": "bad_request"}, True)


@pytest.mark.parametrize("piece_bytes", [1_000, 9_000, 100_000])
async def test_a_head_without_end_is_refused(gateway, piece_bytes):
    sent = UNFINISHED + LINES
    pieces = [sent[at : at + piece_bytes] for at in range(0, len(sent), piece_bytes)]
    (reply,) = await answers_to(gateway, *pieces)
    assert_bad_request(reply)


async def test_a_head_without_end_behind_a_request_is_refused(gateway):
    call = signed_call(gateway, "get", BODY, extra=())
    first, second = await answers_to(gateway, call, UNFINISHED, LINE, LINE, LINE)
    assert first.status == 200
    assert_bad_request(second)


async def test_a_head_that_is_long_and_ends_is_served(gateway):
    extra = [("X-Long", "y" * 7_000), ("X-Too", "y" * 7_000), ("Connection", "close")]
    call = signed_call(gateway, "get", BODY, extra=extra)
    pieces = [call[at : at + 4_000] for at in range(0, len(call), 4_000)]
    (reply,) = await answers_to(gateway, *pieces)
    assert reply.status == 200


async def test_trailers_without_end_are_refused(gateway):
    top = head("/v1/get", [*signed_fields(gateway, BODY, "/v1/get"), ("Transfer-Encoding", "chunked")])
    body = chunked(BODY).removesuffix(b"\r\n")
    (reply,) = await answers_to(gateway, top + body, LINE, LINE, LINE, LINE)
    assert_bad_request(reply)


async def test_a_body_in_the_smallest_chunks_is_served(gateway):
    body = b'{"key":"k","value":"' + b"x" * 20_000 + b'"}'
    close = ("Connection", "close")
    fields_of = [*signed_fields(gateway, body, "/v1/put"), ("Transfer-Encoding", "chunked"), close]
    sent = head("/v1/put", fields_of) + chunked(body, 1)
    pieces = [sent[at : at + 30_000] for at in range(0, len(sent), 30_000)]
    (reply,) = await answers_to(gateway, *pieces)
    assert reply.status == 200


async def test_a_head_without_end_behind_a_call_in_flight_ends_the_connection_after_the_answer(gateway):
    gateway.faults.gate.clear()
    answers = asyncio.create_task(
        answers_to(gateway, signed_call(gateway, "get", BODY, extra=()), UNFINISHED, *[LINE] * 4)
    )
    await until(lambda: gateway.faults.count("charge"))
    [connection] = gateway.app.data.service.connections
    await until(lambda: connection._receiver.input is Input.DROPPED)
    gateway.faults.gate.set()
    assert [reply.status for reply in await answers] == [200]


async def test_calls_behind_one_in_flight_are_read_ahead_within_a_bound(gateway):
    """Its body came late, so the parser counts it among the queued messages for longer."""
    gateway.faults.gate.clear()
    _, writer = await gateway.connect()
    call = signed_call(gateway, "get", BODY, extra=())
    writer.write(call[:-1])
    await until(lambda: gateway.app.drain.calls)
    writer.write(call[-1:] + call * 30_000)
    await until(lambda: gateway.faults.count("charge"))
    last = -1
    while last != (last := writer.transport.get_write_buffer_size()):  # noqa: ASYNC110 - what is waited for is elsewhere
        await asyncio.sleep(0.1)
    assert last > 1_000_000
    writer.transport.abort()
    gateway.faults.gate.set()


@pytest.mark.parametrize("chunks", [4096, 4097, 4098])
@pytest.mark.parametrize("is_whole", [True, False])
async def test_the_request_behind_a_body_of_any_number_of_chunks_is_served(gateway, chunks, is_whole):
    """Beyond 4,096 chunks aiohttp's stream asks for a pause, even at the end of the last one."""
    body = b'{"key":"k","value":"' + b"x" * (chunks - 22) + b'"}'
    fields_of = [*signed_fields(gateway, body, "/v1/put"), ("Transfer-Encoding", "chunked")]
    sent = head("/v1/put", fields_of) + chunked(body, 1)
    end = len(sent) if is_whole else len(sent) - 5
    call = signed_call(gateway, "get", BODY)
    replies = await answers_to(gateway, sent[:end], sent[end:] + call)
    assert [reply.status for reply in replies] == [200, 200]


async def test_a_body_as_long_as_the_one_before_is_no_framing_without_end(gateway):
    body = b'{"key":"k","value":"' + b"x" * MAX_FRAMING_BYTES + b'"}'
    reader, writer = await gateway.connect()
    for _ in range(3):
        call = signed_call(gateway, "put", body, extra=())
        writer.write(call[: -len(body)])
        await until(lambda: gateway.app.data.service.limiter.receiving)
        writer.write(body)
        reply = await read_reply(reader)
        assert (reply.status, reply.closes) == (200, False)
    writer.close()
