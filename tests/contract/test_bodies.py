"""The maximum size of a body, to the byte."""

import json

import pytest

from gateway.domain.model import Operation
from tests.support.gateway import run_gateway
from tests.support.wire import CLOSE, head, send_one, signed_call

LIMIT = 131_072


def padded(size: int) -> bytes:
    """A good put of exactly `size` bytes."""
    body = b'{"key":"k","value":1}'
    return body + b" " * (size - len(body))


@pytest.mark.parametrize("in_chunks", [False, True], ids=["by length", "in chunks"])
async def test_a_body_of_128_kib_is_accepted(gateway, in_chunks):
    reply = await send_one(gateway, signed_call(gateway, "put", padded(LIMIT), in_chunks=in_chunks))
    assert (reply.status, reply.json) == (200, {"ok": True})


@pytest.mark.parametrize("in_chunks", [False, True], ids=["by length", "in chunks"])
async def test_a_body_of_one_byte_more_is_refused(gateway, in_chunks):
    reply = await send_one(gateway, signed_call(gateway, "put", padded(LIMIT + 1), in_chunks=in_chunks))
    assert (reply.status, reply.json) == (413, {"error": "body_too_large"})


@pytest.mark.parametrize("operation", list(Operation))
async def test_every_operation_refuses_a_body_that_is_too_large(gateway, operation):
    reply = await gateway.call(operation, padded(LIMIT + 1))
    assert (reply.status, reply.error) == (413, "body_too_large")


async def test_one_chunk_that_is_too_large_is_refused(gateway):
    data = signed_call(gateway, "put", b"", in_chunks=True).removesuffix(b"0\r\n\r\n")
    data += b"%x\r\n" % (LIMIT + 1) + b" " * (LIMIT + 1) + b"\r\n0\r\n\r\n"
    assert (await send_one(gateway, data)).status == 413


async def test_a_body_in_chunks_of_one_byte_is_the_same_body(gateway):
    body = json.dumps({"key": "k", "value": "in small pieces"}).encode()
    data = signed_call(gateway, "put", body, in_chunks=True).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    data += b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    assert (await send_one(gateway, data)).status == 200
    assert (await gateway.get("k")).json["value"] == "in small pieces"


async def test_a_configured_limit_holds_to_the_byte():
    async with run_gateway({"limits": {"body_bytes": 100}}) as gateway:
        assert (await gateway.call("put", padded(100))).status == 200
        assert (await gateway.call("put", padded(101))).status == 413


@pytest.mark.parametrize("operation", list(Operation))
async def test_a_call_without_a_body_is_invalid_json(gateway, operation):
    reply = await gateway.call(operation, b"")
    assert (reply.status, reply.error) == (400, "invalid_json")


async def test_a_call_without_length_or_chunks_has_an_empty_body(gateway):
    data = signed_call(gateway, "get", b"").replace(b"Content-Length: 0\r\n", b"")
    assert (await send_one(gateway, data)).error == "invalid_json"


async def test_a_declared_length_beyond_every_integer_is_refused_and_ends_the_connection(gateway):
    length = str(2**64 - 1)
    data = head("/v1/put", [("Host", "x"), ("Content-Length", length)])
    reply = await send_one(gateway, data)
    assert (reply.status, reply.closes) == (413, True)


async def test_trailers_are_no_header_fields(gateway):
    body = b'{"key":"k"}'
    data = signed_call(gateway, "get", body, in_chunks=True, token=None, extra=(CLOSE,))
    data = data.removesuffix(b"\r\n") + b"X-KVS-Authorization: Bearer test-table-token\r\n\r\n"
    assert (await send_one(gateway, data)).error == "missing_token"
