"""Eviction: the largest group of waiting connections gives way, and a connection being served never does."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from gateway.http.admission import ConnectionLimiter
from tests.http.test_capacity import assert_overloaded, connections, unread_socket
from tests.support.gateway import run_gateway
from tests.support.wire import head, read_reply, signed_call, until

BODY = b'{"key":"k"}'
NO_BODY = head("/v1/put", [("Host", "x"), ("Content-Length", 1000)])
NOWHERE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def capped(**edge):
    longer = {"head_seconds": 60, "body_seconds": 60, "idle_seconds": 60}
    return run_gateway({"edge": longer | edge})


async def is_served(gateway, reader, writer) -> bool:
    writer.write(signed_call(gateway, "get", BODY, extra=()))
    return (await read_reply(reader)).status == 200


async def has_lost(reader) -> bool:
    """Tests whether the server closes without a response; the test would wait for ever if it does not."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


@asynccontextmanager
async def serving(gateway, pairs):
    """Makes a call on each of these connections wait for the store."""
    before = gateway.faults.count("charge")
    gateway.faults.gate.clear()
    for _, writer in pairs:
        writer.write(signed_call(gateway, "get", BODY, extra=()))
    await until(lambda: gateway.faults.count("charge") == before + len(pairs))
    try:
        yield
    finally:
        gateway.faults.gate.set()


@pytest.mark.parametrize("begun", [b"", b"POST /v1/get HT"], ids=["silence", "half a head"])
async def test_the_connection_that_has_waited_longest_without_a_request_is_evicted(begun):
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as (first, second, third):
        first[1].write(begun)
        async with connections(gateway, 1) as [fourth]:
            assert await has_lost(first[0])
            for pair in (second, third, fourth):
                assert await is_served(gateway, *pair)


async def test_the_kept_connection_that_is_unused_longest_is_evicted():
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as (first, second, third):
        for pair in (first, second, third, first):
            assert await is_served(gateway, *pair)
        async with connections(gateway, 1) as [fourth]:
            assert await has_lost(second[0])
            for pair in (fourth, first, third):
                assert await is_served(gateway, *pair)


async def test_a_flood_of_silent_connections_evicts_only_its_own():
    async with capped(max_connections=10) as gateway, connections(gateway, 4) as kept:
        for pair in kept:
            assert await is_served(gateway, *pair)
        async with connections(gateway, 50):
            for pair in kept:
                assert await is_served(gateway, *pair)


async def test_idle_kept_connections_are_evicted_for_a_burst_of_new_ones():
    async with capped(max_connections=20) as gateway, connections(gateway, 20) as idle:
        for reader, writer in idle:
            writer.write(NOWHERE)
            assert (await read_reply(reader)).status == 404
        async with connections(gateway, 8) as good:
            assert all(await asyncio.gather(*(is_served(gateway, *pair) for pair in good)))


async def test_a_new_connection_is_refused_immediately_if_all_others_are_being_served():
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as pairs:
        async with serving(gateway, pairs):
            async with connections(gateway, 1) as [(reader, _)]:
                reply = await read_reply(reader)
            assert_overloaded(reply)
            assert reply.closes
            assert (await gateway.metrics())['kvs_refusals_total{code="overloaded"}'] == 1
        for reader, _ in pairs:
            assert (await read_reply(reader)).status == 200


async def test_the_slowest_body_is_evicted_if_bodies_fill_the_listener():
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as slow:
        for number, (_, writer) in enumerate(slow):
            writer.write(NO_BODY)
            await until(lambda number=number: len(gateway.app.data.service.limiter.receiving) == number + 1)
        async with connections(gateway, 1) as [good]:
            assert await is_served(gateway, *good)
            assert await has_lost(slow[0][0])
        await until(lambda: len(gateway.app.drain.calls) == 2)


@pytest.mark.parametrize("pieces", [2, 5])
async def test_a_request_whose_body_has_arrived_is_never_evicted(pieces):
    body = b'{"key":"k","value":"' + b"x" * 5000 + b'"}'
    async with capped(max_connections=1) as gateway, connections(gateway, 1) as [(reader, writer)]:
        call = signed_call(gateway, "put", body, extra=())
        gateway.faults.gate.clear()
        writer.write(call[: -len(body)])
        await until(lambda: gateway.app.data.service.limiter.receiving)
        for start in range(0, len(body), len(body) // pieces + 1):
            writer.write(body[start : start + len(body) // pieces + 1])
            await asyncio.sleep(0.005)
        await until(lambda: gateway.faults.count("charge") == 1)
        async with connections(gateway, 1) as [(other, _)]:
            assert_overloaded(await read_reply(other))
        gateway.faults.gate.set()
        assert (await read_reply(reader)).status == 200
        assert await is_served(gateway, reader, writer)


@pytest.mark.parametrize("listener", ["ops", "control"])
async def test_the_other_listeners_evict_as_well(listener):
    async with (
        capped(max_connections=3) as gateway,
        connections(gateway, 3, listener) as pairs,
        connections(gateway, 1, listener) as [(reader, writer)],
    ):
        assert await has_lost(pairs[0][0])
        writer.write(NOWHERE)
        assert (await read_reply(reader)).status in (401, 404)


async def test_evicted_connections_are_counted():
    async with capped(max_connections=1) as gateway, connections(gateway, 5):
        await until(lambda: gateway.app.data.service.limiter.evicted == 4)
        assert (await gateway.metrics())["kvs_connections_displaced_total"] == 4
        assert (await gateway.metrics())["kvs_connections"] == 1


async def test_connections_refused_for_their_address_evict_nobody():
    async with (
        capped(max_connections=3, max_connections_per_address=2) as gateway,
        connections(gateway, 2) as pairs,
        connections(gateway, 30),
    ):
        for pair in pairs:
            assert await is_served(gateway, *pair)
        assert gateway.app.data.service.limiter.evicted == 0


async def test_an_address_at_its_limit_is_refused_and_nobody_is_evicted_for_it():
    async with capped(max_connections_per_address=2) as gateway, connections(gateway, 2) as pairs:
        for _ in range(3):
            async with connections(gateway, 1) as [(reader, _)]:
                assert_overloaded(await read_reply(reader))
                assert await reader.read() == b""
        for pair in pairs:
            assert await is_served(gateway, *pair)
        pairs[0][1].close()
        await until(lambda: len(gateway.app.data.service.connections) == 1)
        async with connections(gateway, 1) as [pair]:
            assert await is_served(gateway, *pair)


class Member:
    def __init__(self, peer: str) -> None:
        self.peer = peer

    def evict(self) -> None:
        raise AssertionError("nobody has to make room")


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("", "10.0.0.1", False),
    ],
)
def test_an_ipv6_client_is_its_network_of_64_bits(first, second, is_one):
    limiter = ConnectionLimiter(10, 1)
    assert limiter.admit(Member(first))
    assert limiter.admit(Member(second)) is not is_one


def test_nothing_is_kept_of_an_address_that_has_left():
    limiter = ConnectionLimiter(10, 1)
    for _ in range(3):
        member = Member("10.0.0.1")
        assert limiter.admit(member)
        limiter.leave(member)
    assert [limiter.connections, limiter.new, limiter.receiving, limiter.kept, limiter._by_address] == [
        set(),
        {},
        {},
        {},
        {},
    ]


async def test_the_slowest_body_is_cut_off_if_all_slots_are_taken():
    async with capped(max_in_flight=2) as gateway, connections(gateway, 4) as (first, second, *good):
        for number, (_, writer) in enumerate((first, second)):
            writer.write(NO_BODY)
            await until(lambda number=number: len(gateway.app.data.handler.bodies._taken) == number + 1)
        for reader, writer in good:
            call = signed_call(gateway, "get", BODY, extra=())
            writer.write(call[: -len(BODY)])
            await asyncio.sleep(0.005)
            writer.write(BODY)
            assert (await read_reply(reader)).status == 200
        reply = await read_reply(first[0])
        assert (reply.status, reply.json, reply.closes) == (408, {"error": "request_timeout"}, True)
        assert len(gateway.app.data.handler.bodies._taken) == 1


async def test_the_slot_of_a_body_is_given_back_however_the_body_ends():
    async with capped(max_in_flight=2, body_seconds=0.05) as gateway:
        for data in (
            NO_BODY,
            NO_BODY + b"x" * 1000,
            head("/v1/put", [("Transfer-Encoding", "chunked")]) + b"z",
        ):
            async with connections(gateway, 2) as pairs:
                for _, writer in pairs:
                    writer.write(data)
                await until(lambda: not gateway.app.drain.calls)
        assert gateway.app.data.handler.bodies._taken == {}


@pytest.mark.parametrize(
    "last", [b"X\r\n\r\n", head("/v1/put", [("Host", "x"), ("Content-Length", 10**9)])], ids=["400", "413"]
)
async def test_a_client_that_stays_after_its_last_response_is_evicted(last):
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as pairs:
        for reader, writer in pairs:
            writer.write(last)
            assert (await read_reply(reader)).closes
        async with connections(gateway, 2) as good:
            for pair in good:
                assert await is_served(gateway, *pair)


async def test_a_client_that_does_not_read_is_evicted():
    async with capped(max_connections=1, write_seconds=60) as gateway:
        loop, client = asyncio.get_running_loop(), unread_socket(gateway)
        with client:
            sending = asyncio.create_task(loop.sock_sendall(client, NOWHERE * 500_000))
            await until(lambda: gateway.app.data.service.limiter.unread)
            async with connections(gateway, 1) as [good]:
                assert await is_served(gateway, *good)
            with suppress(ConnectionError):
                await sending
        assert not gateway.app.data.service.limiter.unread
