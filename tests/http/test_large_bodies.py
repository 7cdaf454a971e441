"""A body that is too large is refused before it is read; `Expect`."""

import asyncio
import resource
from types import SimpleNamespace

import pytest

from gateway.domain.answers import Answer
from gateway.http.messages import encode_response
from tests.support.wire import head, parse_replies, read_reply, signed_call, signed_fields

BODY = b'{"key":"k"}'
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
EXPECT = ("Expect", "100-continue")


def put_head(gateway, length: tuple[str, object], *extra: tuple[str, str]) -> bytes:
    return head("/v1/put", [*signed_fields(gateway, b"", "/v1/put"), length, *extra])


async def test_a_declared_length_beyond_the_limit_is_refused_before_a_byte_of_the_body_is_sent(gateway):
    reader, writer = await gateway.connect()
    writer.write(put_head(gateway, ("Content-Length", 131_073)))
    reply = await read_reply(reader)
    writer.close()
    assert (reply.status, reply.json, reply.closes) == (413, {"error": "body_too_large"}, True)


async def test_a_body_that_would_be_too_large_is_refused_instead_of_invited(gateway):
    answer = await gateway.send_raw(put_head(gateway, ("Content-Length", 131_073), EXPECT))
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("spelling", ["100-continue", "100-Continue"])
async def test_a_good_body_is_invited_and_then_answered(gateway, spelling):
    data = signed_call(gateway, "get", BODY, extra=[("Expect", spelling)])
    reader, writer = await gateway.connect()
    writer.write(data.removesuffix(BODY))
    assert await reader.readexactly(len(CONTINUE)) == CONTINUE
    writer.write(BODY)
    assert (await read_reply(reader)).status == 200
    writer.close()


async def test_a_body_that_came_uninvited_is_not_invited(gateway):
    reader, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", BODY, extra=[EXPECT]))
    assert (await read_reply(reader)).status == 200
    writer.close()


@pytest.mark.parametrize(("path", "method", "status"), [("/v1/scan", "POST", 404), ("/v1/get", "PUT", 405)])
async def test_a_body_for_an_unknown_route_is_not_invited(gateway, path, method, status):
    fields = [("Host", "x"), ("Content-Length", 10), EXPECT]
    (reply,) = parse_replies(await gateway.send_raw(head(path, fields, method=method)))
    assert (reply.status, reply.closes) == (status, True)


@pytest.mark.parametrize("expectation", ["200-ok", "", "100-continue, x"])
async def test_an_unknown_expectation_is_ignored(gateway, expectation):
    reader, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", BODY, extra=[("Expect", expectation)]))
    assert (await read_reply(reader)).status == 200
    writer.close()


async def pour(writer, piece: bytes, count: int) -> int:
    """Sends until the server hangs up; returns the number of pieces that were read."""
    for sent in range(count):
        try:
            writer.write(piece)
            async with asyncio.timeout(2):
                await writer.drain()
        except (TimeoutError, ConnectionError):
            return sent
    return count


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize(
    ("length", "piece"),
    [
        (("Content-Length", 10_000_000_000), b" " * 65_536),
        (("Transfer-Encoding", "chunked"), b"10000\r\n" + b" " * 65_536 + b"\r\n"),
        (("Transfer-Encoding", "chunked"), b"1;" + b"x" * 65_536),
    ],
    ids=["by length", "in chunks", "in one extension"],
)
async def test_a_body_without_end_is_not_kept_in_memory(gateway, length, piece):
    before_kib = peak_kib()
    reader, writer = await gateway.connect()
    writer.write(put_head(gateway, length))
    pouring = asyncio.create_task(pour(writer, piece, 1000))
    if not piece.startswith(b"1;"):
        assert (await read_reply(reader)).status == 413
    await pouring
    writer.transport.abort()
    assert peak_kib() - before_kib < 16 * 1024
    assert (await gateway.get("k")).status == 200


async def test_a_chunked_body_is_refused_as_soon_as_the_limit_is_passed(gateway):
    reader, writer = await gateway.connect()
    writer.write(put_head(gateway, ("Transfer-Encoding", "chunked")))
    writer.write(b"20001\r\n" + b" " * 0x20001)
    reply = await read_reply(reader)
    writer.close()
    assert (reply.status, reply.closes) == (413, True)


async def test_a_refused_body_is_never_read_as_the_next_request(gateway):
    hidden = signed_call(gateway, "put", b'{"key":"k","value":1}')
    data = put_head(gateway, ("Content-Length", 200_000)) + hidden
    (reply,) = parse_replies(await gateway.send_raw(data))
    assert reply.status == 413
    assert gateway.faults.count("put") == 0


async def test_a_client_that_sends_its_large_body_first_still_reads_the_refusal(gateway):
    reader, writer = await gateway.connect()
    writer.write(put_head(gateway, ("Content-Length", 2_000_000)) + b" " * 2_000_000)
    await writer.drain()
    (reply,) = parse_replies(await reader.read())
    writer.close()
    assert reply.status == 413


@pytest.mark.parametrize("megabytes", [2, 20])
async def test_bytes_behind_a_refusal_are_read_for_a_moment(gateway, megabytes):
    """Without that, a client that sends everything before it reads would never read."""
    reader, writer = await gateway.connect()
    size = megabytes * 1_000_000
    writer.write(put_head(gateway, ("Content-Length", size)) + b" " * size)
    await writer.drain()
    (reply,) = parse_replies(await reader.read())
    writer.close()
    assert reply.status == 413


def test_a_response_of_megabytes_is_not_copied_and_a_small_one_is_one_piece():
    request = SimpleNamespace(method="GET", id="id")
    large, small = (
        encode_response(request, Answer(200, b"x" * length), 0, keep_alive=True) for length in (2**20, 2**16)
    )
    assert large[0].endswith(b"\r\n\r\n")
    assert len(large[1]) == 2**20
    assert small[1] == b""
    assert small[0].endswith(b"\r\n\r\n" + b"x" * 2**16)
