"""What is scarce: who uses up most of it loses it first, and who is served never loses it."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from gateway.http.admission import ConnectionLimiter
from tests.http.test_capacity import assert_overloaded, connections, unread_socket
from tests.support.gateway import run_gateway
from tests.support.wire import head, read_reply, signed_call, until

BODY = b'{"key":"k"}'
NO_BODY = head("/v1/put", [("Host", "x"), ("Content-Length", 1000)])
NOWHERE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def capped(**edge):
    longer = {"head_seconds": 60, "body_seconds": 60, "idle_seconds": 60}
    return run_gateway({"edge": longer | edge})


async def is_served(gateway, reader, writer) -> bool:
    writer.write(signed_call(gateway, "get", BODY, extra=()))
    return (await read_reply(reader)).status == 200


async def has_lost(reader) -> bool:
    """Whether the server closes without a word; the test would wait for ever if it does not."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


@asynccontextmanager
async def serving(gateway, pairs):
    """A call on each of these connections waits for the store."""
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
async def test_who_has_waited_longest_without_a_request_makes_room(begun):
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as (first, second, third):
        first[1].write(begun)
        async with connections(gateway, 1) as [fourth]:
            assert await has_lost(first[0])
            for pair in (second, third, fourth):
                assert await is_served(gateway, *pair)


async def test_of_kept_connections_the_longest_unused_makes_room():
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as (first, second, third):
        for pair in (first, second, third, first):
            assert await is_served(gateway, *pair)
        async with connections(gateway, 1) as [fourth]:
            assert await has_lost(second[0])
            for pair in (fourth, first, third):
                assert await is_served(gateway, *pair)


async def test_a_flood_of_silent_connections_drives_out_its_own():
    async with capped(max_connections=10) as gateway, connections(gateway, 4) as kept:
        for pair in kept:
            assert await is_served(gateway, *pair)
        async with connections(gateway, 50):
            for pair in kept:
                assert await is_served(gateway, *pair)


async def test_connections_that_are_kept_without_a_use_make_room_for_all_who_come_at_once():
    async with capped(max_connections=20) as gateway, connections(gateway, 20) as idle:
        for reader, writer in idle:
            writer.write(NOWHERE)
            assert (await read_reply(reader)).status == 404
        async with connections(gateway, 8) as good:
            assert all(await asyncio.gather(*(is_served(gateway, *pair) for pair in good)))


async def test_where_all_are_served_the_next_is_refused_at_once():
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as pairs:
        async with serving(gateway, pairs):
            async with connections(gateway, 1) as [(reader, _)]:
                reply = await read_reply(reader)
            assert_overloaded(reply)
            assert reply.closes
            assert (await gateway.metrics())['kvs_refusals_total{code="overloaded"}'] == 1
        for reader, _ in pairs:
            assert (await read_reply(reader)).status == 200


async def test_where_bodies_on_their_way_take_all_places_the_slowest_makes_room():
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as slow:
        for number, (_, writer) in enumerate(slow):
            writer.write(NO_BODY)
            await until(lambda number=number: len(gateway.app.data.service.limiter.receiving) == number + 1)
        async with connections(gateway, 1) as [good]:
            assert await is_served(gateway, *good)
            assert await has_lost(slow[0][0])
        await until(lambda: len(gateway.app.drain.calls) == 2)


@pytest.mark.parametrize("pieces", [2, 5])
async def test_a_request_whose_body_has_come_is_served_whoever_comes(pieces):
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
async def test_the_other_listeners_make_room_as_well(listener):
    async with (
        capped(max_connections=3) as gateway,
        connections(gateway, 3, listener) as pairs,
        connections(gateway, 1, listener) as [(reader, writer)],
    ):
        assert await has_lost(pairs[0][0])
        writer.write(NOWHERE)
        assert (await read_reply(reader)).status in (401, 404)


async def test_who_lost_a_place_is_counted():
    async with capped(max_connections=1) as gateway, connections(gateway, 5):
        await until(lambda: gateway.app.data.service.limiter.evicted == 4)
        assert (await gateway.metrics())["kvs_connections_displaced_total"] == 4
        assert (await gateway.metrics())["kvs_connections"] == 1


async def test_refused_connections_of_one_address_drive_nobody_out():
    async with (
        capped(max_connections=3, max_connections_per_address=2) as gateway,
        connections(gateway, 2) as pairs,
        connections(gateway, 30),
    ):
        for pair in pairs:
            assert await is_served(gateway, *pair)
        assert gateway.app.data.service.limiter.evicted == 0


async def test_an_address_that_holds_all_it_may_is_refused_more_and_nobody_makes_room_for_it():
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
def test_of_ipv6_an_address_is_the_network_that_one_client_has(first, second, is_one):
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


async def test_where_slots_for_bodies_are_full_the_slowest_is_cut_and_the_next_is_served():
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


async def test_slots_of_bodies_are_given_back_however_they_end():
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
async def test_who_was_answered_for_the_last_time_and_stays_makes_room(last):
    async with capped(max_connections=3) as gateway, connections(gateway, 3) as pairs:
        for reader, writer in pairs:
            writer.write(last)
            assert (await read_reply(reader)).closes
        async with connections(gateway, 2) as good:
            for pair in good:
                assert await is_served(gateway, *pair)


async def test_who_does_not_read_makes_room():
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
