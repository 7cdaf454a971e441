"""Input that the HTTP parser refuses is 400 `bad_request`, in JSON, and ends the connection."""

import asyncio
import logging

import pytest

from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import parse_replies, read_reply, send_one, signed_call, until

HOST = b"Host: x\r\n"


def post(fields: bytes, body: bytes = b"", line: bytes = b"POST /v1/get HTTP/1.1") -> bytes:
    return line + b"\r\n" + HOST + fields + b"\r\n" + body


MALFORMED = {
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    "text": b"hello, is anybody there?\r\n\r\n",
    "zeros": b"\0" * 500,
    "a Redis command": b"*1\r\n$4\r\nPING\r\n",
    "the HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a connection to nothing": b"CONNECT \r\nHost: a\r\n\r\n",
    "no host": b"POST /v1/get HTTP/1.1\r\n\r\n",
    "two hosts": b"POST /v1/get HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "an unknown method": post(b"", line=b"BREW /v1/get HTTP/1.1"),
    "a method in small letters": post(b"", line=b"post /v1/get HTTP/1.1"),
    "an unknown version": post(b"", line=b"POST /v1/get HTTP/1.7"),
    "another protocol": post(b"", line=b"POST /v1/get FTP/1.1"),
    "a blank in the target": post(b"", line=b"POST /v1/get x HTTP/1.1"),
    "a NUL in the target": post(b"", line=b"POST /v1/get\0 HTTP/1.1"),
    "a bad authority": post(b"", line=b"POST http://[x/v1/get HTTP/1.1"),
    "a target that the parser has no answer to": post(b"", line=b"POST http://[=]@ HTTP/1.1"),
    "a target that is no path": post(b"", line=b"POST v1/get HTTP/1.1"),
    "a NUL in a field": post(b"X: a\0b\r\n"),
    "a NUL in a field's name": post(b"X\0: a\r\n"),
    "a folded field": post(b"X: a\r\n b\r\n"),
    "a field folded by a tab": post(b"X: a\r\n\tb\r\n"),
    "a blank before the colon": post(b"X : a\r\n"),
    "no colon": post(b"X\r\n"),
    "no name": post(b": a\r\n"),
    "a name with a blank": post(b"X Y: a\r\n"),
    "a name that is not ASCII": post("É: a\r\n".encode()),
    "lines without carriage return": b"POST /v1/get HTTP/1.1\nHost: x\n\n",
    "lines without line feed": b"POST /v1/get HTTP/1.1\rHost: x\r\r",
    "a carriage return in a field": post(b"X: a\rb\r\n"),
    "a line of 9,000 bytes": post(b"", line=b"POST /v1/get?" + b"a" * 9000 + b" HTTP/1.1"),
    "a field of 9,000 bytes": post(b"X: " + b"a" * 9000 + b"\r\n"),
    "a name of 9,000 bytes": post(b"a" * 9000 + b": x\r\n"),
    "200 fields": post(b"X: a\r\n" * 200),
    "a head of 1 MB": post(b"X: " + b"a" * 1_000_000 + b"\r\n"),
    "length and chunks": post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "chunks and length": post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"),
    "two lengths": post(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello"),
    "one length twice": post(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
    "a list of lengths": post(b"Content-Length: 5, 5\r\n", b"hello"),
    "an empty length": post(b"Content-Length: \r\n"),
    "a length with a plus": post(b"Content-Length: +5\r\n", b"hello"),
    "a negative length": post(b"Content-Length: -5\r\n", b"hello"),
    "a hexadecimal length": post(b"Content-Length: 0x5\r\n", b"hello"),
    "a length with a point": post(b"Content-Length: 5.0\r\n", b"hello"),
    "a length of 30 digits": post(b"Content-Length: " + b"9" * 30 + b"\r\n"),
    "a coding under chunks": post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    "an unknown coding": post(b"Transfer-Encoding: gzip\r\n", b"hello"),
    "chunks that are not last": post(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"),
    "chunks twice": post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", b"0\r\n\r\n"),
    "a coding like chunks": post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
}

BAD_CHUNKS = {
    "no number": b"zz\r\nhello\r\n0\r\n\r\n",
    "a negative size": b"-5\r\nhello\r\n0\r\n\r\n",
    "a size with 0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "a size that is too small": b"2\r\nhello\r\n0\r\n\r\n",
    "a size that is too large": b"6\r\nhello\r\n0\r\n\r\n",
    "a size beyond 64 bits": b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "no line end after a chunk": b"5\r\nhello0\r\n\r\n",
    "a bare line feed": b"5\nhello\n0\n\n",
    "an empty size": b"\r\nhello\r\n0\r\n\r\n",
    "a NUL in an extension": b"5;\0\r\nhello\r\n0\r\n\r\n",
}


def assert_refused(reply) -> None:
    assert (reply.status, reply.json) == (400, {"error": "bad_request"})
    assert reply.headers["content-type"] == "application/json"
    assert reply.closes


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
async def test_input_that_is_not_http_is_refused_and_the_connection_closed(gateway, data):
    assert_refused(await send_one(gateway, data))


@pytest.mark.parametrize("chunks", BAD_CHUNKS.values(), ids=BAD_CHUNKS.keys())
async def test_bad_chunks_are_refused_and_the_connection_closed(gateway, chunks):
    assert_refused(await send_one(gateway, post(b"Transfer-Encoding: chunked\r\n", chunks)))


@pytest.mark.parametrize("chunks", BAD_CHUNKS.values(), ids=BAD_CHUNKS.keys())
async def test_bad_chunks_that_come_after_the_head_are_refused_immediately(gateway, chunks):
    reader, writer = await gateway.connect()
    writer.write(post(b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"))
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(chunks)
    (reply,) = parse_replies(await reader.read())
    writer.close()
    assert_refused(reply)


@pytest.mark.parametrize("steps", range(6))
async def test_bad_chunks_right_behind_the_head_are_refused_immediately(gateway, steps):
    reader, writer = await gateway.connect()
    writer.write(post(b"Transfer-Encoding: chunked\r\n"))
    for _ in range(steps):
        await asyncio.sleep(0)
    writer.write(BAD_CHUNKS["no number"])
    async with asyncio.timeout(PATIENCE_SECONDS):
        (reply,) = parse_replies(await reader.read())
    writer.close()
    assert_refused(reply)


async def test_bad_chunks_behind_a_call_in_flight_are_refused_after_its_answer(gateway):
    gateway.faults.gate.clear()
    reader, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", b'{"key":"k"}', extra=()))
    await until(lambda: gateway.faults.count("charge"))
    writer.write(post(b"Transfer-Encoding: chunked\r\n"))
    await asyncio.sleep(0.01)
    writer.write(BAD_CHUNKS["no number"])
    await asyncio.sleep(0.01)
    gateway.faults.gate.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        first, second = parse_replies(await reader.read())
    writer.close()
    assert first.status == 200
    assert_refused(second)


async def test_a_malformed_request_on_a_kept_connection_is_refused(gateway):
    reader, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", b'{"key":"k"}', extra=()))
    assert (await read_reply(reader)).status == 200
    writer.write(MALFORMED["no colon"])
    (reply,) = parse_replies(await reader.read())
    writer.close()
    assert_refused(reply)


async def test_a_malformed_request_does_not_disturb_the_answer_to_the_one_before(gateway):
    gateway.faults.gate.clear()
    reader, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", b'{"key":"k"}', extra=()))
    await until(lambda: gateway.faults.count("charge"))
    writer.write(MALFORMED["no colon"])
    await asyncio.sleep(0.01)
    gateway.faults.gate.set()
    first, second = parse_replies(await reader.read())
    writer.close()
    assert first.status == 200
    assert_refused(second)


async def test_a_request_in_one_packet_with_a_malformed_one_is_not_carried_out(gateway):
    good = signed_call(gateway, "put", b'{"key":"k","value":1}', extra=())
    assert_refused(await send_one(gateway, good + MALFORMED["no colon"]))
    assert gateway.faults.count("put") == 0


async def test_nothing_that_follows_a_malformed_request_is_answered(gateway):
    good = signed_call(gateway, "put", b'{"key":"k","value":1}')
    assert_refused(await send_one(gateway, MALFORMED["no colon"] + good))
    assert gateway.faults.count("put") == 0


async def test_a_chunked_body_hides_no_second_request(gateway):
    hidden = signed_call(gateway, "put", b'{"key":"k","value":1}')
    data = post(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden)
    assert_refused(await send_one(gateway, data))
    assert gateway.faults.count("put") == 0


async def test_malformed_requests_leave_neither_a_traceback_nor_their_content_in_the_log(gateway, caplog):
    caplog.set_level(logging.INFO)
    for data in [*MALFORMED.values(), post(b"Transfer-Encoding: chunked\r\n", BAD_CHUNKS["no number"])]:
        await gateway.send_raw(data)
    assert "Traceback" not in caplog.text
    assert [record for record in caplog.records if record.name != "kvs.health"] == []


async def test_malformed_requests_are_counted(gateway):
    await gateway.send_raw(MALFORMED["text"])
    metrics = await gateway.metrics()
    assert metrics['kvs_refusals_total{code="bad_request"}'] == 1
    assert metrics['kvs_http_requests_total{operation="other",status="400"}'] == 1


@pytest.mark.parametrize("listener", ["ops", "control"])
async def test_the_other_listeners_refuse_malformed_requests_alike(gateway, listener):
    (reply,) = parse_replies(await gateway.send_raw(MALFORMED["text"], listener=listener))
    assert_refused(reply)


async def test_a_client_that_continues_to_send_after_the_refusal_still_reads_it(gateway):
    reader, writer = await gateway.connect()
    writer.write(MALFORMED["no colon"])
    await writer.drain()
    await reader.readuntil(b"\r\n")
    for _ in range(50):
        writer.write(b"more\r\n" * 1000)
    rest = await reader.read()
    writer.close()
    assert rest.endswith(b'{"error":"bad_request"}')
