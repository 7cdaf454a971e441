"""One socket shared by many calls: each gets its own reply, or fails in time."""

import asyncio

import pytest

from backends.redis.wire.commands import pack
from backends.redis.wire.connection import Connection
from backends.redis.wire.replies import NOT_REDIS
from backends.redis.wire.resp import ErrorReply
from tests.support.outcomes import outcomes, reasons
from tests.support.wire import until

RUNS_ON_UVLOOP = True

LARGE = bytes(range(256)) * 256
GARBAGE = [
    b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\xff\x00", b"$-7\r\n", b"*x\r\n", b":12a\r\n",
    b"$99999999999999999999\r\n", b"%1\r\n*1\r\n:1\r\n:1\r\n",
]  # fmt: skip


async def test_thousands_of_calls_at_once_get_their_own_replies(connection):
    calls = [connection.send(pack("ECHO", number)) for number in range(5_000)]
    assert connection.in_flight == 5_000
    assert await asyncio.gather(*calls) == [b"%d" % number for number in range(5_000)]
    assert connection.in_flight == 0


async def test_large_values_pass_in_both_directions_at_once(connection):
    async def echo(number: int) -> None:
        message = b"%04d" % number + LARGE
        assert await connection.send(pack("ECHO", message)) == message

    await asyncio.gather(*(echo(number) for number in range(200)))


async def test_an_error_reply_belongs_to_its_own_call(connection):
    before, refused, after = await outcomes(
        [
            connection.send(pack("ECHO", "a")),
            connection.send(pack("NO-SUCH-COMMAND")),
            connection.send(pack("ECHO", "b")),
        ]
    )
    assert (before, after) == (b"a", b"b")
    assert isinstance(refused, ErrorReply)


@pytest.mark.parametrize("passed", range(13))
async def test_a_truncated_reply_fails_every_waiting_call(connect, link, passed):
    connection = await connect(link.port)
    assert await connection.send(pack("PING")) == b"PONG"
    link.replies_left = len(b"$5\r\nfirst\r\n") + passed
    calls = [connection.send(pack("ECHO", word)) for word in ("first", "second", "third")]
    first, second, third = await outcomes(calls)
    assert first == b"first"
    assert second == b"second" if passed == 12 else reasons([second])
    assert reasons([third]) == {"the connection was lost"}
    assert connection.fault == "the connection was lost"


async def test_a_reset_fails_the_calls_in_flight_and_all_later_ones(connect, link):
    connection = await connect(link.port)
    assert await connection.send(pack("PING")) == b"PONG"
    link.hold()
    calls = [connection.send(pack("PING")) for _ in range(10)]
    await asyncio.sleep(0.01)
    link.reset()
    assert reasons(await outcomes(calls)) == {"the connection was lost"}
    assert reasons(await outcomes([connection.send(pack("PING"))])) == {"the connection was lost"}


@pytest.mark.parametrize("garbage", GARBAGE, ids=ascii)
async def test_garbage_ends_the_connection(connect, link, garbage):
    connection = await connect(link.port)
    assert await connection.send(pack("PING")) == b"PONG"
    link.hold()
    call = connection.send(pack("PING"))
    link.say(garbage)
    assert reasons(await outcomes([call])) == {NOT_REDIS}


@pytest.mark.parametrize(
    ("unasked", "reason"),
    [
        (b"+PONG\r\n", NOT_REDIS),
        (b"-ERR max number of clients reached\r\n", "accepts no more connections (maxclients)"),
        (b"-DENIED Redis is running in protected mode\r\n", "runs in protected mode (DENIED)"),
    ],
)
async def test_an_unexpected_reply_ends_the_connection(connect, link, unasked, reason):
    connection = await connect(link.port)
    assert await connection.send(pack("PING")) == b"PONG"
    link.say(unasked)
    await until(lambda: connection.fault)
    assert connection.fault == reason
    assert not connection.is_overdue


async def test_the_reply_to_a_cancelled_call_reaches_no_other_call(connection):
    calls = [connection.send(pack("ECHO", number)) for number in range(100)]
    for call in calls[::3]:
        call.cancel()
    results = await outcomes(calls)
    for number, result in enumerate(results):
        if number % 3:
            assert result == b"%d" % number
        else:
            assert isinstance(result, asyncio.CancelledError)
    assert await connection.send(pack("PING")) == b"PONG"


async def test_cancelled_callers_do_not_disturb_others(connect, link):
    connection = await connect(link.port)
    link.reply_delay = 0.05

    async def call(number: int) -> bytes:
        return await connection.send(pack("ECHO", number))

    callers = [asyncio.create_task(call(number)) for number in range(50)]
    await asyncio.sleep(0.02)
    for caller in callers[:25]:
        caller.cancel()
    results = await outcomes(callers)
    assert all(isinstance(result, asyncio.CancelledError) for result in results[:25])
    assert results[25:] == [b"%d" % number for number in range(25, 50)]


def report_end(connection: Connection, on_end) -> None:
    connection.report_to(on_error_reply=lambda reply: reply, on_recovery=lambda: None, on_end=on_end)


async def test_an_owner_maps_error_replies_and_is_notified_of_each_recovery(
    connection,
):
    recoveries = []
    connection.report_to(
        on_error_reply=lambda reply: LookupError(str(reply).partition(" ")[0]),
        on_recovery=lambda: recoveries.append(connection.in_flight),
        on_end=lambda: None,
    )
    words = ["PING", "NO-SUCH-COMMAND", "NO-SUCH-COMMAND", "PING", "PING", "NO-SUCH-COMMAND", "PING"]
    results = await outcomes(connection.send(pack(word)) for word in words)
    assert [
        result if word == "PING" else repr(result) for word, result in zip(words, results, strict=True)
    ] == [b"PONG" if word == "PING" else "LookupError('ERR')" for word in words]
    assert recoveries == [3, 0]


async def test_an_end_fails_the_calls_in_flight_and_is_reported_once(connection):
    ended = []
    report_end(connection, lambda: ended.append(connection.fault))
    calls = [connection.send(pack("PING")) for _ in range(3)]
    connection.end("first")
    connection.end("second")
    assert reasons(await outcomes(calls)) == {"first"}
    assert ended == ["first"]
    assert connection.in_flight == 0


async def test_an_owner_that_registers_after_the_end_is_notified_immediately(connection):
    connection.end("over")
    ended = []
    report_end(connection, lambda: ended.append(connection.fault))
    assert ended == ["over"]


async def test_abandoned_calls_cause_no_warnings(connection):
    connection.send(pack("PING")).cancel()
    connection.send_asking(pack("PING")).cancel()
    connection.end("over")
    assert reasons(await outcomes([connection.send(pack("PING")), connection.send_asking(pack("PING"))])) == {
        "over"
    }
