"""One server that is lost: the cost of calls meanwhile, and the way back."""

import asyncio
import logging
import ssl
import time
from functools import partial
from itertools import pairwise

import pytest

from backends.breaker import Breaker
from backends.clock import SystemClock
from backends.errors import BackendUnavailable
from backends.redis.topology.server import MAX_IN_FLIGHT, Server
from backends.redis.wire.commands import pack
from backends.redis.wire.deadlines import DEADLINE_SECONDS
from backends.redis.wire.dialing import Access, dial
from backends.redis.wire.url import Address
from tests.support.link import HOST
from tests.support.outcomes import outcomes, reasons
from tests.support.ports import free_port
from tests.support.redis import RedisServer, TlsServer
from tests.support.redis.tls import PASSWORD, USER
from tests.support.stopwatch import PATIENCE_SECONDS, Stopwatch
from tests.support.wire import until

RUNS_ON_UVLOOP = True
DEADLINES_OF_PRODUCTION = True

NAME = "127.0.0.1"
SLACK_SECONDS = 0.1
"""The grace period ends up to 40 ms after the deadline."""
SETTLED_SECONDS = 1.1
"""After this time a connection counts as settled."""

READONLY = "is a replica and refuses writes (READONLY)"
COSTS_LITTLE_SECONDS = 0.001


PLAIN = Access("", "", 0, None)


def access_to(server: RedisServer) -> Access:
    if not isinstance(server, TlsServer):
        return PLAIN
    return Access(USER, PASSWORD, 0, ssl.create_default_context(cafile=server.ca_file))


async def dial_at(port: int, access: Access = PLAIN):
    address = Address(HOST, port)
    return address, await dial(address, access)


@pytest.fixture
async def kept(quiet_loop):
    """Makes servers for ports; closes them after the test."""
    opened = []

    def kept(port: int, access: Access = PLAIN) -> Server:
        dialing = partial(dial_at, port, access)
        opened.append(Server(NAME, dialing, Breaker(SystemClock().monotonic_ms)))
        return opened[-1]

    yield kept
    for server in opened:
        await server.close()
    await asyncio.sleep(0)


@pytest.fixture(params=[RedisServer, TlsServer])
def own_server(request):
    """A server for one test, which may end it, with and without TLS."""
    with request.param() as server:
        yield server


async def connected(server: Server) -> Server:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                await server.call(pack("PING"))
            except BackendUnavailable:
                await asyncio.sleep(0.01)
            else:
                return server


async def seconds_each(server: Server, calls: int) -> float:
    """Returns the seconds that a failing call takes."""
    watch = Stopwatch()
    for _ in range(calls):
        with pytest.raises(BackendUnavailable):
            await server.call(pack("PING"))
    return watch.seconds / calls


@pytest.mark.usefixtures("long_deadlines")
async def test_the_first_calls_wait_for_the_first_connection(kept, server):
    kept_server = kept(server.port)
    assert await asyncio.gather(*(kept_server.call(pack("ECHO", n)) for n in range(50))) == [
        b"%d" % n for n in range(50)
    ]


async def test_a_server_that_never_existed_costs_one_deadline(kept):
    kept_server = kept(free_port())
    watch = Stopwatch()
    assert reasons(await outcomes(kept_server.call(pack("PING")) for _ in range(50))) == {"cannot be reached"}
    assert watch.seconds < SLACK_SECONDS


async def test_a_killed_server_costs_little_and_is_reconnected_immediately(kept, own_server):
    kept_server = await connected(kept(own_server.port, access_to(own_server)))
    own_server.kill()
    with pytest.raises(BackendUnavailable):
        await kept_server.call(pack("PING"))
    assert await seconds_each(kept_server, 500) < COSTS_LITTLE_SECONDS
    await asyncio.sleep(1.2)  # the longest pause between attempts
    own_server.launch()
    await asyncio.to_thread(own_server.wait_until_ready)
    watch = Stopwatch(own_server.pid)
    await connected(kept_server)
    assert watch.seconds < 0.8


async def test_a_stopped_server_costs_one_deadline_in_total(kept, own_server):
    kept_server = await connected(kept(own_server.port, access_to(own_server)))
    await asyncio.sleep(SETTLED_SECONDS)
    own_server.stop()
    started, watch = time.monotonic(), Stopwatch()
    for _ in range(5):
        with pytest.raises(BackendUnavailable):
            await kept_server.call(pack("PING"))
    assert time.monotonic() - started >= DEADLINE_SECONDS
    assert watch.seconds < DEADLINE_SECONDS + SLACK_SECONDS
    assert await seconds_each(kept_server, 500) < COSTS_LITTLE_SECONDS
    own_server.resume()
    watch = Stopwatch(own_server.pid)
    await connected(kept_server)
    assert watch.seconds < 1.0


async def test_a_hanging_connection_attempt_costs_one_deadline_in_total(quiet_loop, server):
    async def dial_and_hang():
        await may_connect.wait()
        return await dial_at(server.port)

    may_connect = asyncio.Event()
    may_connect.set()
    hanging = await connected(Server(NAME, dial_and_hang, Breaker(SystemClock().monotonic_ms)))
    await asyncio.sleep(SETTLED_SECONDS)
    may_connect.clear()
    server.command("CLIENT", "KILL", "TYPE", "normal")
    await asyncio.sleep(0.01)
    watch = Stopwatch()
    assert reasons(await outcomes(hanging.call(pack("PING")) for _ in range(4))) == {"no answer in time"}
    assert watch.seconds < 2 * DEADLINE_SECONDS
    assert await seconds_each(hanging, 500) < COSTS_LITTLE_SECONDS
    may_connect.set()
    await connected(hanging)
    await hanging.close()


@pytest.mark.usefixtures("long_deadlines")
async def test_after_a_lost_connection_the_next_calls_succeed_immediately(kept, server, link):
    kept_server = await connected(kept(link.port))
    await asyncio.sleep(SETTLED_SECONDS)
    link.hold()
    in_flight = [asyncio.ensure_future(kept_server.call(pack("PING"))) for _ in range(50)]
    await asyncio.sleep(0.01)
    server.command("CLIENT", "KILL", "TYPE", "normal")
    link.release()
    link.reset()
    assert reasons(await outcomes(in_flight)) == {"the connection was lost"}
    assert await outcomes(kept_server.call(pack("ECHO", number)) for number in range(50)) == [
        b"%d" % n for n in range(50)
    ]


async def test_short_lived_connections_are_retried_with_backoff(kept, server):
    attempts = 0

    async def dial_and_lose():
        nonlocal attempts
        attempts += 1
        address, connection = await dial_at(server.port)
        asyncio.get_running_loop().call_later(0.01, connection.end, "lost")
        return address, connection

    flapping = Server("here", dial_and_lose, Breaker(SystemClock().monotonic_ms))
    await asyncio.sleep(2)
    await flapping.close()
    assert 3 <= attempts <= 12


async def test_a_demoted_server_is_looked_up_again_at_a_bounded_rate(quiet_loop, long_deadlines):
    attempts = []

    async def dial_and_count():
        # by the loop's own time, which stands still while the loop is held
        attempts.append(round(asyncio.get_running_loop().time() * 1000))
        return await dial_at(server.port)

    with RedisServer() as server:
        server.command("REPLICAOF", HOST, 1)
        replica = Server(NAME, dial_and_count, Breaker(SystemClock().monotonic_ms))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(attempts) < 3:
                assert reasons(await outcomes([replica.call(pack("SET", "k", "v"))])) == {READONLY}
                assert await replica.call(pack("GET", "nothing-there")) is None
                await asyncio.sleep(0.01)
        await replica.close()
    assert all(later - earlier >= 1000 for earlier, later in pairwise(attempts))


@pytest.mark.usefixtures("long_deadlines")
async def test_calls_beyond_the_limit_fail_immediately_and_others_continue(kept, link):
    kept_server = await connected(kept(link.port))
    link.hold()
    echoes = [pack("ECHO", number) for number in range(MAX_IN_FLIGHT)]
    in_flight = [asyncio.ensure_future(kept_server.call(echo)) for echo in echoes]
    await asyncio.sleep(0.01)
    assert await seconds_each(kept_server, 100) < COSTS_LITTLE_SECONDS
    with pytest.raises(BackendUnavailable, match="too many calls in flight"):
        await kept_server.call(pack("PING"))
    link.release()
    assert await asyncio.gather(*in_flight) == [b"%d" % number for number in range(MAX_IN_FLIGHT)]
    assert await kept_server.call(pack("PING")) == b"PONG"


@pytest.mark.usefixtures("long_deadlines")
async def test_calls_that_wait_for_a_connection_are_limited(kept, link):
    link.hold()
    kept_server = kept(link.port)
    gone = [asyncio.ensure_future(kept_server.call(pack("PING"))) for _ in range(MAX_IN_FLIGHT)]
    await asyncio.sleep(0.01)
    with pytest.raises(BackendUnavailable, match="too many calls in flight"):
        await kept_server.call(pack("PING"))
    for caller in gone:
        caller.cancel()
    await asyncio.wait(gone)
    waiting = [asyncio.ensure_future(kept_server.call(pack("PING"))) for _ in range(MAX_IN_FLIGHT)]
    await asyncio.sleep(0.01)
    link.release()
    assert await asyncio.gather(*waiting) == [b"PONG"] * MAX_IN_FLIGHT


@pytest.mark.usefixtures("long_deadlines")
async def test_cancelled_callers_make_room_for_others(kept, link):
    kept_server = await connected(kept(link.port))
    for _ in range(5):
        gone = [asyncio.ensure_future(kept_server.call(pack("ECHO", "gone"))) for _ in range(500)]
        staying = [asyncio.ensure_future(kept_server.call(pack("ECHO", number))) for number in range(500)]
        await asyncio.sleep(0)
        for caller in gone:
            caller.cancel()
        assert await asyncio.gather(*staying) == [b"%d" % number for number in range(500)]
        await asyncio.wait(gone)


@pytest.mark.usefixtures("long_deadlines")
async def test_closing_fails_the_calls_in_flight_and_all_later_ones_and_may_be_repeated(kept, link):
    kept_server = await connected(kept(link.port))
    link.hold()
    in_flight = [asyncio.ensure_future(kept_server.call(pack("PING"))) for _ in range(3)]
    await asyncio.sleep(0.01)
    await kept_server.close()
    await kept_server.close()
    assert reasons(await outcomes([*in_flight, kept_server.call(pack("PING"))])) == {"the store was closed"}
    link.release()
    await until(lambda: link.connections == 0)


@pytest.mark.usefixtures("long_deadlines")
async def test_closing_ends_a_connection_attempt_and_its_waiting_calls(kept, link):
    link.hold()
    kept_server = kept(link.port)
    waiting = [asyncio.ensure_future(kept_server.call(pack("PING"))) for _ in range(10)]
    await asyncio.sleep(0.05)
    await kept_server.close()
    assert reasons(await outcomes(waiting)) == {"the store was closed"}
    link.release()
    await until(lambda: link.connections == 0)


@pytest.mark.usefixtures("long_deadlines")
async def test_an_unhandled_exception_does_not_end_reconnecting(kept, server, caplog):
    async def dial_badly():
        if not faults:
            return await dial_at(server.port)
        raise faults.pop()

    faults = [ValueError("of a kind with a secret"), KeyError("another")]
    surviving = Server("here", dial_badly, Breaker(SystemClock().monotonic_ms))
    await connected(surviving)
    await surviving.close()
    assert faults == []
    said = [record.fields["reason"] for record in caplog.records if record.levelno >= logging.WARNING]
    assert [reason.rpartition(" ")[2] for reason in said] == ["KeyError", "ValueError"]
    assert "secret" not in caplog.text
