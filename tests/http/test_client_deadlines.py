"""Deadlines for the head, the body and an idle connection."""

import asyncio
from time import perf_counter
from typing import NamedTuple

import pytest

from tests.support.gateway import run_gateway
from tests.support.stopwatch import PATIENCE_SECONDS, Stopwatch
from tests.support.wire import head, parse_replies, read_reply, signed_call, signed_fields, until

BODY = b'{"key":"k"}'
LONG, SHORT = 30, 0.2


def edge(**deadlines):
    """A gateway with one short deadline."""
    longer = {"head_seconds": LONG, "body_seconds": LONG, "idle_seconds": LONG, "write_seconds": LONG}
    return run_gateway({"edge": longer | deadlines})


class Took(NamedTuple):
    """Seconds on the clock, and the same without those that this process waited for a processor."""

    passed: float
    on_a_free_machine: float


async def last_words(reader):
    """Reads until the server closes; returns the replies and the time it took."""
    began, watch = perf_counter(), Stopwatch()
    async with asyncio.timeout(PATIENCE_SECONDS):
        replies = parse_replies(await reader.read())
    return replies, Took(perf_counter() - began, watch.seconds)


def assert_late(replies, took):
    (reply,) = replies
    assert (reply.status, reply.json, reply.closes) == (408, {"error": "request_timeout"}, True)
    assert took.passed > SHORT * 0.7
    assert took.on_a_free_machine < SHORT + 1.5


@pytest.mark.parametrize(
    "begun", [b"", b"P", b"POST /v1/get HTTP/1.1\r\n", b"POST /v1/get HTTP/1.1\r\nHost: x\r\nX: "]
)
async def test_a_new_connection_without_a_whole_head_is_closed_in_time(begun):
    async with edge(head_seconds=SHORT) as gateway:
        reader, writer = await gateway.connect()
        writer.write(begun)
        assert_late(*await last_words(reader))
        writer.close()


async def test_a_head_that_drips_in_is_closed_in_time():
    async with edge(head_seconds=SHORT) as gateway:
        reader, writer = await gateway.connect()
        dripping = asyncio.create_task(drip(writer, b"POST /v1/get HTTP/1.1\r\n" + b"X: y\r\n" * 1000))
        assert_late(*await last_words(reader))
        dripping.cancel()
        writer.close()


async def test_half_a_head_on_a_kept_connection_is_closed_in_time():
    async with edge(head_seconds=SHORT) as gateway:
        call = signed_call(gateway, "get", BODY, extra=())
        reader, writer = await gateway.connect()
        writer.write(call)
        assert (await read_reply(reader)).status == 200
        writer.write(b"POST /v1/get HT")
        assert_late(*await last_words(reader))
        writer.close()


@pytest.mark.virtual_time
async def test_the_deadline_of_a_head_does_not_touch_the_call_that_follows_it():
    async with edge(head_seconds=SHORT) as gateway:
        gateway.faults.gate.clear()
        call = signed_call(gateway, "get", BODY, extra=())
        reader, writer = await gateway.connect()
        writer.write(call)
        await asyncio.sleep(SHORT * 1.5)
        gateway.faults.gate.set()
        assert (await read_reply(reader)).status == 200
        await asyncio.sleep(SHORT * 1.5)
        writer.write(signed_call(gateway, "get", BODY, extra=()))
        assert (await read_reply(reader)).status == 200
        writer.close()


async def test_a_silent_kept_connection_is_closed_without_a_response():
    async with edge(idle_seconds=SHORT) as gateway:
        call = signed_call(gateway, "get", BODY, extra=())
        reader, writer = await gateway.connect()
        writer.write(call)
        assert (await read_reply(reader)).status == 200
        replies, took = await last_words(reader)
        assert replies == []
        assert took.passed > SHORT * 0.7
        assert took.on_a_free_machine < SHORT + 1.5
        writer.close()


@pytest.mark.virtual_time
@pytest.mark.parametrize("calls_before", [0, 1])
async def test_a_head_that_has_begun_may_take_longer_than_a_connection_may_be_idle(calls_before):
    async with edge(idle_seconds=SHORT) as gateway:
        call = signed_call(gateway, "get", BODY, extra=())
        reader, writer = await gateway.connect()
        for _ in range(calls_before):
            writer.write(call)
            assert (await read_reply(reader)).status == 200
        writer.write(call[:50])
        await asyncio.sleep(SHORT * 2)
        writer.write(call[50:])
        assert (await read_reply(reader)).status == 200
        assert (await last_words(reader))[0] == []
        writer.close()


async def test_half_a_head_that_came_with_the_request_before_does_not_keep_a_connection_open():
    async with edge(idle_seconds=SHORT) as gateway:
        reader, writer = await gateway.connect()
        writer.write(signed_call(gateway, "get", BODY, extra=()) + b"POST /v1/g")
        assert (await read_reply(reader)).status == 200
        _, took = await last_words(reader)
        assert took.on_a_free_machine < SHORT + 1.5
        writer.close()


@pytest.mark.parametrize(
    ("length", "begun"),
    [
        (("Content-Length", 100), b""),
        (("Content-Length", 100), b'{"key":'),
        (("Transfer-Encoding", "chunked"), b""),
        (("Transfer-Encoding", "chunked"), b"7\r\n" + b'{"key":' + b"\r\n"),
        (("Transfer-Encoding", "chunked"), b"5;extension-without-end"),
    ],
)
async def test_a_body_that_does_not_come_is_408_and_ends_the_connection(length, begun):
    async with edge(body_seconds=SHORT) as gateway:
        reader, writer = await gateway.connect()
        writer.write(head("/v1/put", [*signed_fields(gateway, b"", "/v1/put"), length]) + begun)
        assert_late(*await last_words(reader))
        writer.close()


async def test_a_body_that_drips_in_is_408_and_ends_the_connection():
    async with edge(body_seconds=SHORT) as gateway:
        reader, writer = await gateway.connect()
        writer.write(head("/v1/put", [("Host", "x"), ("Content-Length", 10_000)]))
        dripping = asyncio.create_task(drip(writer, b" " * 10_000))
        assert_late(*await last_words(reader))
        dripping.cancel()
        writer.close()


async def test_a_body_that_is_late_is_metered_as_a_timeout():
    async with edge(body_seconds=SHORT) as gateway:
        await gateway.send_raw(head("/v1/put", [("Host", "x"), ("Content-Length", 100)]))
        metrics = await gateway.metrics()
        assert metrics['kvs_http_requests_total{operation="put",status="408"}'] == 1


async def test_a_client_that_goes_away_inside_its_body_leaves_nothing_behind(caplog):
    async with edge() as gateway:
        _, writer = await gateway.connect()
        writer.write(head("/v1/put", [("Host", "x"), ("Content-Length", 100)]) + b"{")
        await until(lambda: gateway.app.drain.calls)
        writer.close()
        await until(lambda: not gateway.app.drain.calls)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def drip(writer, data: bytes) -> None:
    """Sends byte by byte, each long before any deadline."""
    for byte in data:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)
