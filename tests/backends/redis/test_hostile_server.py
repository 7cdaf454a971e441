"""Servers that reply with anything: each call fails in time, and the event loop stays free."""

import asyncio
import time
from functools import partial

import pytest

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from backends.errors import BackendError
from backends.interface import Charge, Keyspace, Record
from backends.redis.wire.connection import Connection
from backends.redis.wire.replies import NOT_REDIS
from backends.redis.wire.resp import (
    LARGEST_REPLY_BYTES,
    LONGEST_LINE_BYTES,
    MOST_ELEMENTS,
    NotResp,
    ReplyReader,
)
from backends.tables import (
    AddToEntry,
    Budget,
    Charges,
    DeleteEntry,
    Done,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    NotInteger,
    Page,
    PutEntry,
    Refused,
    Removed,
    Revisions,
    StoredEntry,
    Sum,
    Table,
    TableCount,
    TouchEntry,
    Unmet,
    Written,
)
from tests.support.outcomes import outcomes, reasons
from tests.support.ports import HOST
from tests.support.redis.scripted import ScriptedRedis

LOOP_SECONDS = 0.05
"""Bound on the CPU time that one reply may take from the event loop."""

HOSTILE = {
    "an array of two billion elements": b"*2000000000\r\n",
    "an array of as many as a number can say": b"*9223372036854775807\r\n",
    "a map, of RESP3": b"%2000000000\r\n",
    "a set, of RESP3": b"~2000000000\r\n",
    "pushes, of RESP3": b">0\r\n" * 60_000,
    "an attribute, of RESP3": b"|2000000000\r\n",
    "a number of more digits than any": b":" + b"9" * 10_000 + b"\r\n",
    "a string of two billion bytes": b"$2000000000\r\n",
    "arrays in arrays": b"*1\r\n" * 60_000,
    "large arrays in arrays": b"*99999\r\n" * 30_000,
    "large arrays beside each other": b"*1000\r\n" + b"*99999\r\n" * 30_000,
    "a line without end": b"+" + b"x" * 250_000,
    "an error without end": b"-" + b"x" * 250_000,
    "replies that nobody waits for": b":1\r\n" * 60_000,
    "errors that nobody waits for": b"-ERR\r\n" * 40_000,
}


@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE)
async def test_a_reply_beyond_the_bounds_ends_the_connection_and_costs_no_time(reply):
    async with ScriptedRedis(lambda _: b":1\r\n") as server:
        _, connection = await asyncio.get_running_loop().create_connection(Connection, HOST, server.port)
        call = connection.send(b"*1\r\n$1\r\nX\r\n")
        began = time.process_time()
        connection.data_received(reply)
        assert time.process_time() - began < LOOP_SECONDS
        assert connection.fault
        await outcomes([call])
        assert reasons(await outcomes([connection.send(b"")])) == {connection.fault}


async def test_reading_takes_time_linear_in_the_bytes_received():
    """Small pieces of an endless line, a string and an array; quadratic time would take minutes."""
    for head, piece, pieces in (
        (b"+", b"x", LONGEST_LINE_BYTES),
        (b"$50000000\r\n", b"x" * 100, 30_000),
        (b"*%d\r\n" % MOST_ELEMENTS, b":1\r\n", 30_000),
    ):
        reader = ReplyReader()
        assert list(reader.feed(head)) == []
        began = time.process_time()
        for _ in range(pieces - len(head)):
            assert list(reader.feed(piece)) == []
        assert time.process_time() - began < pieces * 0.0001


@pytest.mark.parametrize(
    "announced",
    [
        b"$%d\r\n" % (LARGEST_REPLY_BYTES + 1),
        b"*2\r\n$1\r\nx\r\n$%d\r\n" % LARGEST_REPLY_BYTES,
        b"*%d\r\n" % (MOST_ELEMENTS + 1),
        b"*2\r\n*%d\r\n" % (MOST_ELEMENTS - 1),
        b"*1\r\n" * 9,
        b"+" + b"x" * LONGEST_LINE_BYTES,
    ],
    ids=lambda announced: repr(announced[:20]),
)
def test_an_announcement_beyond_the_bounds_is_refused_before_its_data(announced):
    with pytest.raises(NotResp):
        list(ReplyReader().feed(announced))


def test_lines_count_against_the_size_of_a_reply(monkeypatch):
    monkeypatch.setattr("backends.redis.wire.resp.LARGEST_REPLY_BYTES", 1000)
    reader = ReplyReader()
    line = b"+" + b"x" * 500 + b"\r\n"
    assert len(list(reader.feed(b"*2\r\n" + line * 2))) == 1
    with pytest.raises(NotResp):
        list(reader.feed(b"*3\r\n" + line * 3))


REPLIES = (
    b"*3\r\n:1\r\n:60000\r\n:7\r\n*2\r\n:1\r\n:2\r\n$5\r\na\r\nbc\r\n+OK\r\n$-1\r\n*-1\r\n*0\r\n:-7\r\n"
    b"*2\r\n$1\r\n0\r\n*1\r\n+x\r\n-E f\r\n$0\r\n\r\n"
)
READ = [[1, 60000, 7], [1, 2], b"a\r\nbc", b"OK", None, None, [], -7, [b"0", [b"x"]], "E f", b""]


@pytest.mark.parametrize("size", range(1, len(REPLIES) + 1))
def test_replies_are_read_alike_in_pieces_of_any_size(size):
    reader, read = ReplyReader(), []
    for start in range(0, len(REPLIES), size):
        read += reader.feed(REPLIES[start : start + size])
    assert [str(each) if isinstance(each, Exception) else each for each in read] == READ


@pytest.mark.parametrize(
    "line",
    [b":", b":+1", b":1_0", b": 1", b":1.0", b"$", b"$x", b"$1_0", b"$-2", b"*-2", b"*", b"*1e3", b"x", b""],
    ids=repr,
)
def test_a_malformed_line_is_refused(line):
    with pytest.raises(NotResp):
        list(ReplyReader().feed(line + b"\r\n0\r\n"))


SHAPES = [
    b":1\r\n", b":7\r\n", b"*0\r\n", b"*-1\r\n", b"$-1\r\n", b"+OK\r\n", b"+PONG\r\n", b"$2\r\nOK\r\n",
    b"$0\r\n\r\n", b"*1\r\n:1\r\n", b"*2\r\n:1\r\n:1\r\n", b"*2\r\n:2\r\n$1\r\n1\r\n",
    b"*3\r\n:1\r\n:1\r\n:1\r\n",
    b"*2\r\n$1\r\n0\r\n*1\r\n:1\r\n", b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\nx\r\n", b"*2\r\n+a\r\n-ERR x\r\n",
    b"-MOVED 1 :1\r\n",
    b"$40\r\nmaxmemory:1\r\nmaxmemory_policy:\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\r\n",
]  # fmt: skip
TABLE = Table("acme/shop/production", Keyspace("t2_a"))
REVISION = Revisions().next()


def _execute(store, operation):
    return store.tables.execute(TABLE, operation, 0)


def _step(store):
    return store.charged.step(Charges((Budget(TABLE.home, 1),), 1000), TABLE, [GetEntry("k")], 0)


CALLS = {
    **{
        type(each).__name__: (partial(_execute, operation=each), kinds)
        for each, kinds in (
            (GetEntry("k"), StoredEntry | NoEntry),
            (PutEntry("k", StoredEntry(b"1", None, REVISION)), Written | Unmet | NoRoom),
            (DeleteEntry("k"), Removed | Unmet),
            (TouchEntry("k", None, REVISION), Written | NoEntry | Unmet),
            (AddToEntry("k", 1, None, REVISION), Sum | NotInteger | NoRoom),
            (ListEntries("", "", 100, True, 2**20), Page),
        )
    },
    "step": (_step, Done | Refused),
    "count": (lambda store: store.tables.count(TABLE, 0), TableCount),
    "drop": (lambda store: store.tables.drop([TABLE]), type(None)),
    "charge": (lambda store: store.counters.charge("b", 1, 1000), Charge),
    "read": (lambda store: store.records.read("n"), Record | None),
    "swap": (lambda store: store.records.swap("n", b"1", None), bool),
    "page": (lambda store: store.records.page("", after="", limit=10), list),
    "ping": (lambda store: store.ping(), type(None)),
}


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("scheme", ["redis", "redis+cluster", "redis+sentinel"])
async def test_a_reply_of_another_shape_is_an_ordinary_error(scheme, shape, caplog):
    """The reply comes to all commands, also to those that precede the use of a server."""
    async with ScriptedRedis(lambda _: shape) as server:
        path = "/main" if scheme == "redis+sentinel" else ""
        store = await open_backend(RedisSettings(url=f"{scheme}://{HOST}:{server.port}{path}"), SystemClock())
        try:
            for call, kind in CALLS.values():
                result = (await outcomes([call(store)]))[0]
                assert isinstance(result, (kind, BackendError))
                assert "unhandled" not in str(result)
        finally:
            await store.close()
    assert "unhandled" not in str([vars(record) for record in caplog.records])


@pytest.mark.parametrize(
    "name", ["PutEntry", "DeleteEntry", "AddToEntry", "TouchEntry", "step", "drop", "charge", "swap", "ping"]
)
@pytest.mark.parametrize("shape", [b"*0\r\n", b"$-1\r\n", b"+YES\r\n"], ids=repr)
async def test_an_unexpected_reply_is_not_taken_for_success(name, shape):
    async with ScriptedRedis(lambda _: shape) as server:
        store = await open_backend(RedisSettings(url=f"redis://{HOST}:{server.port}"), SystemClock())
        try:
            with pytest.raises(BackendError, match=NOT_REDIS):
                await CALLS[name][0](store)
        finally:
            await store.close()
