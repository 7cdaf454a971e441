"""No call waits beyond its deadline, and none is abandoned because this process was slow (D89)."""

import asyncio
import socket
import time

import pytest

from backends.errors import BackendUnavailable
from backends.redis.wire import connection as wire
from backends.redis.wire.commands import pack
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from tests.support.link import HOST
from tests.support.outcomes import outcomes, reasons
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.stopwatch import Stopwatch

RUNS_ON_UVLOOP = True
DEADLINES_OF_PRODUCTION = True

SLACK_SECONDS = 0.1
"""The grace period ends up to 40 ms after the deadline."""
LARGE = bytes(range(256)) * 256


@pytest.fixture
def deaf():
    """A listening socket that accepts connections and reads nothing."""
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(1)
        yield listener


async def test_calls_without_a_reply_fail_together_at_the_deadline(connect, link):
    connection = await connect(link.port)
    link.hold()
    started, watch = time.monotonic(), Stopwatch()
    calls = [connection.send(pack("PING")) for _ in range(10)]
    await asyncio.sleep(0.2)
    calls.append(connection.send(pack("PING")))
    assert reasons(await outcomes(calls)) == {"no answer in time"}
    assert time.monotonic() - started >= DEADLINE_SECONDS
    assert watch.seconds < DEADLINE_SECONDS + SLACK_SECONDS
    assert connection.is_overdue


async def test_a_slow_server_keeps_no_call_waiting_beyond_its_deadline(connection, server):
    busy_3_ms = """
        local began = redis.call('TIME')
        repeat local now = redis.call('TIME')
        until (now[1] - began[1]) * 1000000 + now[2] - began[2] > 3000
        return 1
    """

    async def seconds_until_answered() -> float:
        watch = Stopwatch(server.pid)
        await outcomes(
            [connection.send(pack("EVAL", busy_3_ms, 0, LARGE[:20_000]))]
        )  # Redis reads few of these at once
        return watch.seconds

    seconds = await asyncio.gather(*(seconds_until_answered() for _ in range(200)))
    assert min(seconds) < 0.1
    assert max(seconds) < DEADLINE_SECONDS + SLACK_SECONDS
    assert connection.is_overdue


async def test_a_late_reply_on_an_ended_connection_reaches_no_call(connect, link):
    connection = await connect(link.port)
    link.hold()
    assert reasons(await outcomes([connection.send(pack("ECHO", "late"))])) == {"no answer in time"}
    link.release()
    link.say(b"$4\r\nlate\r\n")
    await asyncio.sleep(0.05)
    assert reasons(await outcomes([connection.send(pack("PING"))])) == {"no answer in time"}


async def test_a_blocked_event_loop_does_not_fail_calls(connection):
    """All replies have arrived, more than one turn of the loop reads."""
    assert await connection.send(pack("SET", "large", LARGE)) == b"OK"
    calls = [connection.send(pack("GET", "large")) for _ in range(10)]
    await asyncio.sleep(0)
    time.sleep(0.4)  # noqa: ASYNC251 - the loop itself is held up
    assert await asyncio.gather(*calls) == [LARGE] * 10


async def test_an_event_loop_blocked_in_the_grace_period_does_not_fail_calls(connection):
    assert await connection.send(pack("PING")) == b"PONG"
    await asyncio.sleep(0.1)
    call = connection.send(pack("BLPOP", "nothing-there", 0.18))
    await asyncio.sleep(0.16)
    time.sleep(0.4)  # noqa: ASYNC251 - the loop itself is held up
    assert await call is None


async def test_calls_sent_by_a_slow_callback_have_their_full_deadline(connection):
    """The deadline is a second here, so a busy Redis has time."""
    with deadlines_of(1.0):
        early = connection.send(pack("PING"))
        await asyncio.sleep(0)
        time.sleep(1.2)  # noqa: ASYNC251 - the loop itself is held up
        late = connection.send(pack("BLPOP", "nothing-there", 0.2))
    assert await asyncio.gather(early, late) == [b"PONG", None]


async def test_a_later_call_has_a_deadline_of_its_own(connection):
    """The deadline is a second here, so a busy Redis has time."""
    with deadlines_of(1.0):
        for _ in range(3):
            assert await connection.send(pack("BLPOP", "nothing-there", 0.4)) is None


async def test_a_server_that_does_not_read_fails_calls_in_time_and_gets_no_more_data(connect, deaf):
    connection = await connect(deaf.getsockname()[1])
    watch = Stopwatch()
    calls = [connection.send(pack("SET", number, LARGE)) for number in range(500)]
    await asyncio.sleep(0.05)
    assert connection._transport.get_write_buffer_size() > 1_000_000
    assert reasons(await outcomes(calls)) == {"no answer in time"}
    assert watch.seconds < DEADLINE_SECONDS + SLACK_SECONDS
    assert connection._transport.get_write_buffer_size() == 0
    await asyncio.sleep(0)
    peer, _ = deaf.accept()
    with peer, peer.makefile("rb") as received, pytest.raises(ConnectionResetError):
        received.read()  # an orderly end would come after all that was sent


async def test_an_abandoned_write_is_not_applied_after_a_later_acknowledged_one(connect):
    """A stopped server may still apply what is in its buffer, but before anything that comes later."""
    names = [f"k{number}" for number in range(300)]
    with RedisServer() as server:
        first = await connect(server.port)
        assert await first.send(pack("PING")) == b"PONG"
        server.stop()
        given_up = [first.send(pack("SET", name, b"old" + LARGE[:8_000])) for name in names]
        assert reasons(await outcomes(given_up)) == {"no answer in time"}
        second = await connect(server.port)
        server.resume()
        with deadlines_of():
            for name in reversed(names):
                assert await second.send(pack("SET", name, "new")) == b"OK"
            await asyncio.sleep(0.2)
            assert await asyncio.gather(*(second.send(pack("GET", name)) for name in names)) == [b"new"] * 300


async def test_a_write_whose_process_stood_still_before_it_left_is_not_sent(connect, server, monkeypatch):
    connection = await connect(server.port)
    assert await connection.send(pack("PING")) == b"PONG"
    at = [1.0]
    monkeypatch.setattr(wire, "boot_seconds", lambda: at[0])
    given_up = connection.send(pack("SET", "stood-still", "old"))
    at[0] += 20.0
    assert reasons(await outcomes([given_up])) == {"no answer in time"}
    assert server.command("GET", "stood-still") is None


async def test_a_block_that_would_begin_after_its_deadline_does_not_begin():
    begun = False
    with pytest.raises(BackendUnavailable, match="no answer in time"):
        async with deadline(asyncio.get_running_loop().time()):
            begun = True
    assert not begun
