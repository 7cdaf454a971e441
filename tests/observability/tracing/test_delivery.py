"""A receiver that is away, slow or unwilling costs spans, and nothing else."""

import asyncio
import signal
import socket
import time

import pytest

from gateway.config.settings import TracingSettings
from gateway.observability.tracing.exporting import WAITING_SPANS, Export
from tests.support.config import BASE, merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.stopwatch import PATIENCE_SECONDS

LOST = "kvs_spans_lost_total"


async def until(condition, what, seconds=PATIENCE_SECONDS):
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at, what
        await asyncio.sleep(0.02)


async def until_lost(gateway, count):
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await gateway.metrics())[LOST] < count:  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0.05)


async def test_spans_arrive_without_waiting_for_the_end(traced, receiver):
    async with traced() as gateway:
        await gateway.get("k")
        await until(lambda: len(receiver.spans) == 2, "the spans have not arrived")
        assert (await gateway.metrics())[LOST] == 0


async def test_without_a_receiver_requests_are_served_and_spans_counted_as_lost(traced, lines):
    with socket.socket() as taken:  # and refuses: nobody listens on it
        taken.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}/v1/traces"
        await _assert_only_spans_are_lost(traced, nowhere)
    (line,) = lines("kvs.tracing")
    assert (line["message"], line["reason"]) == ("traces are lost", "ConnectionError")


async def _assert_only_spans_are_lost(traced, endpoint):
    async with traced({"tracing": {"endpoint": endpoint}}) as gateway:
        assert (await gateway.put("k", 1)).status == 200
        await until_lost(gateway, 2)
        assert (await gateway.get("k")).json["value"] == 1


async def test_requests_are_served_while_a_receiver_hangs(traced, receiver):
    async with traced() as gateway:
        receiver.gate.clear()
        await gateway.get("k")
        await until(receiver.is_asked.is_set, "nothing was sent")
        asked = len(receiver.bodies)
        assert [(await gateway.get("k")).status for _ in range(3)] == [200] * 3
        assert len(receiver.bodies) == asked  # it had not let go meanwhile
        await until_lost(gateway, 2)
        receiver.gate.set()


async def test_a_gateway_ends_within_seconds_while_its_receiver_hangs(receiver, tmp_path):
    receiver.gate.clear()
    config = merged(BASE, {"tracing": {"endpoint": receiver.url, "share": 1}})
    with GatewayProcess(config, tmp_path) as process:
        async with client_of(process) as gateway:
            for _ in range(200):  # more than one delivery
                await gateway.get("k")
        await until(receiver.is_asked.is_set, "nothing was sent")
        process.signal(signal.SIGTERM)
        seconds = await asyncio.to_thread(process.seconds_until_end)
        assert seconds < 15  # the exporter alone would take thirty
        assert process.wait() == 0
        assert "not all traces were delivered" in process.log.read_text()


async def test_the_last_spans_of_a_process_arrive(receiver, tmp_path):
    config = merged(BASE, {"tracing": {"endpoint": receiver.url, "share": 1}})
    with GatewayProcess(config, tmp_path) as process:
        async with client_of(process) as gateway:
            for _ in range(50):  # more than one delivery
                await gateway.get("k")
        process.signal(signal.SIGTERM)
        assert process.wait() == 0
    assert len(receiver.requests()) == 50


@pytest.mark.parametrize("status", [429, 503])
async def test_a_receiver_that_asks_for_patience_is_asked_again(traced, receiver, status):
    receiver.statuses = [status]
    async with traced() as gateway:
        await gateway.get("k")
        await until(lambda: len(receiver.spans) == 2, "the spans have not arrived")
        assert (await gateway.metrics())[LOST] == 0


@pytest.mark.parametrize("status", [302, 401, 503])
async def test_spans_that_a_receiver_keeps_refusing_are_lost_and_logged_once(traced, receiver, lines, status):
    receiver.statuses = [status] * 100
    async with traced() as gateway:
        await gateway.get("k")
        await until_lost(gateway, 2)
        assert (await gateway.put("k", 1)).status == 200
        await until_lost(gateway, 4)
    assert [line["reason"] for line in lines("kvs.tracing")] == [f"status {status}"]


async def test_the_span_queue_is_bounded_and_dropped_spans_are_counted(receiver):
    receiver.gate.clear()
    export = Export(TracingSettings(endpoint=receiver.url))
    for _ in range(WAITING_SPANS + 100):
        export.tracer.start_span("one").end()
    assert export.lost == 100
    receiver.gate.set()
    await export.close()
    assert len(receiver.spans) == WAITING_SPANS
    assert export.lost == 100
