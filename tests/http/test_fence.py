"""A replica that stood still begins nothing that it had received by then (D19)."""

import asyncio
import math
import socket
import struct
from contextlib import contextmanager

import pytest

from gateway.http import fence as fence_module
from gateway.http.fence import LATE_SECONDS, LATEST_SECONDS, STANDSTILL_SECONDS, Fence
from gateway.http.receiving import MAX_QUEUED
from tests.support.config import CONTROL_TOKEN, COUNTERS_APART
from tests.support.gateway import run_gateway
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import head, parse_replies, read_reply, signed_call, until

LONG_SECONDS = 20.0
RESET = struct.pack("ii", 1, 0)


@pytest.fixture
async def gateway():
    """A gateway whose writes wait for their charges."""
    async with run_gateway(COUNTERS_APART) as running:
        yield running


def fence_of(gateway) -> Fence:
    return gateway.app.data.service.fence


def call(gateway, operation: str, value: int | None = None) -> bytes:
    body = b'{"key":"k"}' if value is None else b'{"key":"k","value":%d}' % value
    return signed_call(gateway, operation, body, extra=())


@contextmanager
def connected(gateway):
    """A client whose bytes the loop cannot take before the test awaits."""
    host, port = gateway.data.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), PATIENCE_SECONDS) as client:
        yield client


async def received_by(client: socket.socket) -> bytes:
    client.setblocking(False)
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await asyncio.get_running_loop().sock_recv(client, 65536)


async def replies_of(client: socket.socket):
    """Returns all that comes until the end."""
    received = b""
    while piece := await received_by(client):
        received += piece
    return parse_replies(received)


def assert_not_begun(replies) -> None:
    assert [(reply.status, reply.error, reply.closes) for reply in replies] == [(503, "overloaded", True)]
    assert "stood still" in replies[0].headers["x-kvs-error-detail"]
    assert replies[0].headers["retry-after"] == "1"


async def value_of(gateway) -> object:
    found = (await gateway.get("k")).json
    return found["value"] if found["found"] else None


@pytest.fixture(params=["the sockets come first", "the timer comes first"])
def stand_still(request, gateway):
    """Lets the process stand still. Then the loop runs callbacks of sockets or the timer first."""

    def stand_still() -> None:
        gateway.clock.stand_still(LONG_SECONDS)
        if request.param == "the timer comes first":
            fence_of(gateway).beat()

    return stand_still


@pytest.mark.parametrize(("operation", "value"), [("put", 1), ("delete", None)])
async def test_an_unread_write_is_not_begun_after_a_standstill(gateway, stand_still, operation, value):
    await gateway.put("k", 2)
    with connected(gateway) as client:
        client.sendall(call(gateway, "get"))
        await received_by(client)
        client.sendall(call(gateway, operation, value))
        stand_still()
        assert_not_begun(await replies_of(client))
    assert await value_of(gateway) == 2


async def test_a_write_in_the_backlog_is_not_begun_after_a_standstill(gateway, stand_still):
    with connected(gateway) as client:
        client.sendall(call(gateway, "put", 1))
        stand_still()
        assert_not_begun(await replies_of(client))
    assert await value_of(gateway) is None


async def test_a_write_that_waits_for_its_charge_is_not_begun_after_a_standstill(gateway, stand_still):
    gateway.faults.gate.clear()
    with connected(gateway) as client:
        client.sendall(call(gateway, "put", 1) + call(gateway, "put", 2))
        await until(lambda: gateway.faults.count("charge"))
        stand_still()
        gateway.faults.gate.set()
        assert_not_begun(await replies_of(client))
    assert await value_of(gateway) is None


async def test_a_write_whose_body_was_on_its_way_is_not_begun_after_a_standstill(gateway, stand_still):
    data = call(gateway, "put", 1)
    with connected(gateway) as client:
        client.sendall(data[:-2])
        await until(
            lambda: any(each.state.name == "RECEIVING" for each in gateway.app.data.service.connections)
        )
        stand_still()
        client.sendall(data[-2:])
        assert_not_begun(await replies_of(client))
    assert await value_of(gateway) is None


async def test_idle_connections_and_new_ones_serve_on_after_a_standstill(gateway, stand_still, monkeypatch):
    reader, writer = await gateway.connect()
    writer.write(call(gateway, "put", 1))
    assert (await read_reply(reader)).status == 200
    stand_still()
    fence_of(gateway).beat()
    gateway.clock.stand_still(STANDSTILL_SECONDS / 2)
    fence_of(gateway).beat()
    fence_of(gateway).beat()
    monkeypatch.setattr(fence_module, "_silent_seconds", lambda _: 0.0)
    writer.write(call(gateway, "put", 2))
    assert (await read_reply(reader)).status == 200
    writer.close()
    with connected(gateway) as client:
        client.sendall(call(gateway, "put", 3))
        client.shutdown(socket.SHUT_WR)
        assert [reply.status for reply in await replies_of(client)] == [200]
    assert await value_of(gateway) == 3


async def test_the_probes_of_a_replica_that_stood_still_are_answered(gateway, stand_still):
    reader, writer = await gateway.connect("ops")
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    stand_still()
    assert (await read_reply(reader)).status == 200
    writer.close()


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_write_is_not_begun_for_a_client_that_has_reset_its_connection(gateway, is_late):
    gateway.faults.gate.clear()
    with connected(gateway) as client:
        client.sendall(call(gateway, "put", 1))
        await until(lambda: gateway.faults.count("charge"))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    if is_late:  # nothing was awaited: the loop has yet to see the reset
        be_late(gateway)
    else:
        await until(lambda: not gateway.app.data.service.connections)
    gateway.faults.gate.set()
    await until(lambda: not gateway.app.drain.calls)
    assert await value_of(gateway) is None


@pytest.mark.parametrize(("is_late", "status"), [(False, 200), (True, 503)])
async def test_a_write_of_a_client_that_has_sent_all_is_begun_in_time_only(gateway, is_late, status):
    """It may have left or wait for its answer. It gets one in any case."""
    gateway.faults.gate.clear()
    with connected(gateway) as client:
        client.sendall(call(gateway, "put", 1))
        client.shutdown(socket.SHUT_WR)
        await until(lambda: gateway.faults.count("charge"))
        if is_late:
            be_late(gateway)
        gateway.faults.gate.set()
        assert [reply.status for reply in await replies_of(client)] == [status]
    assert await value_of(gateway) == (None if is_late else 1)


@pytest.mark.parametrize(("seconds", "status"), [(LATE_SECONDS, 200), (LATEST_SECONDS, 503)])
async def test_a_write_of_a_client_that_waits_is_begun_unless_it_is_very_late(gateway, seconds, status):
    gateway.faults.gate.clear()
    with connected(gateway) as client:
        client.sendall(signed_call(gateway, "put", b'{"key":"k","value":1}'))
        await until(lambda: gateway.faults.count("charge"))
        be_late(gateway, seconds)
        gateway.faults.gate.set()
        assert [reply.status for reply in await replies_of(client)] == [status]


def be_late(gateway, seconds: float = LATE_SECONDS) -> None:
    """Lets more time pass, with beats between, so that nothing stands still."""
    for _ in range(math.ceil(seconds / 0.1) + 1):
        gateway.clock.stand_still(0.1)
        fence_of(gateway).beat()


async def test_each_standstill_is_logged_once(gateway, lines):
    fence = fence_of(gateway)
    gateway.clock.stand_still(LONG_SECONDS)
    fence.beat()
    fence.beat()
    (line,) = lines("kvs.fence")
    assert (line["message"], line["seconds"]) == ("this process stood still", LONG_SECONDS)


def test_time_that_passes_before_the_first_beat_is_no_standstill(clock):
    fence = Fence(clock.boot_seconds)
    noticed = []
    fence.on_standstill(lambda: noticed.append(clock.boot_seconds()))
    clock.stand_still(LONG_SECONDS)
    fence.beat()
    clock.stand_still(STANDSTILL_SECONDS)
    fence.beat()
    assert noticed == []
    clock.stand_still(STANDSTILL_SECONDS + 0.01)
    fence.beat()
    assert noticed == [clock.boot_seconds()]


async def test_a_change_of_the_control_plane_is_not_begun_after_a_standstill(gateway, stand_still):
    body = b'{"type": "api"}'
    fields = [
        ("Host", "localhost"),
        ("Authorization", f"Bearer {CONTROL_TOKEN}"),
        ("Content-Length", len(body)),
    ]
    data = head("/v1/orgs/acme/apps/late", fields, method="PUT") + body
    reader, writer = await gateway.connect("control")
    writer.write(data[:-1])
    control = gateway.app.control.service
    await until(lambda: any(each.state.name == "RECEIVING" for each in control.connections))
    stand_still()
    writer.write(data[-1:])
    assert_not_begun(parse_replies(await reader.read()))
    writer.close()
    assert (await gateway.manage("GET", "/v1/orgs/acme/apps/late")).status == 404


async def test_a_write_that_waited_behind_a_paused_pipeline_is_not_begun_late(gateway):
    """The bytes of a paused connection wait in the kernel, and are older than the moment they are taken."""
    gateway.faults.gate.clear()
    with connected(gateway) as client:
        client.sendall(call(gateway, "get") * (MAX_QUEUED + 1))
        await until(lambda: gateway.faults.count("charge"))
        client.sendall(call(gateway, "put", 1))
        client.shutdown(socket.SHUT_WR)
        be_late(gateway, LATEST_SECONDS)
        gateway.faults.gate.set()
        assert [reply.status for reply in await replies_of(client)] == [200] * (MAX_QUEUED + 1) + [503]
    assert await value_of(gateway) is None


async def test_a_write_long_after_a_paused_pipeline_is_begun(gateway):
    with connected(gateway) as client:
        client.sendall(call(gateway, "get") * (2 * MAX_QUEUED))
        received = b""
        while len(parse_replies(received)) < 2 * MAX_QUEUED:
            received += await received_by(client)
        be_late(gateway, LATEST_SECONDS)
        client.sendall(signed_call(gateway, "put", b'{"key":"k","value":1}'))
        assert [reply.status for reply in await replies_of(client)] == [200]
