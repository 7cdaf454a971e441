"""A server that redirects everything: each call fails with an error of the ports, in time."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.interface import Keyspace
from tests.support import entries
from tests.support.entries import Entry
from tests.support.outcomes import fault_of
from tests.support.ports import HOST, free_port
from tests.support.redis.resp import CommandBuffer
from tests.support.stopwatch import Stopwatch

TABLE = Keyspace("t2_a")
ROUNDS = 8
"""Enough rounds to open the circuit breaker and to fail while it is open."""
LONGEST_CALL_SECONDS = 0.35
CLOSED_PORT = free_port()


OPERATIONS = {
    "put": lambda store: entries.put(store, TABLE, "k", Entry(b"1", None)),
    "get": lambda store: entries.get(store, TABLE, "k"),
    "delete": lambda store: entries.delete(store, TABLE, "k"),
    "drop": lambda store: entries.drop(store, TABLE),
    "charge": lambda store: store.counters.charge("b", 1, 60_000),
    "read": lambda store: store.records.read("app/a"),
    "swap": lambda store: store.records.swap("app/a", b"{}", None),
    "page": lambda store: store.records.page("app/", after="", limit=10),
    "ping": lambda store: store.ping(),
}


class ScriptedServer(asyncio.Protocol):
    """Answers each command with `reply_to(its port, the command)`."""

    def __init__(self, reply_to):
        self._reply_to = reply_to
        self._commands = CommandBuffer()

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, data):
        port = self._transport.get_extra_info("sockname")[1]
        for command in self._commands.feed(data):
            self._transport.write(self._reply_to(port, command))


@asynccontextmanager
async def _scripted(reply_to):
    server = await asyncio.get_running_loop().create_server(lambda: ScriptedServer(reply_to), HOST, 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def moved_to_itself(port, _):
    return b"-MOVED 1 %b:%d\r\n" % (HOST.encode(), port)


def moved_to_a_closed_port(*_):
    return b"-MOVED 1 %b:%d\r\n" % (HOST.encode(), CLOSED_PORT)


def moved_to_nowhere(*_):
    return b"-MOVED 1 nowhere\r\n"


def asked_elsewhere(port, _):
    return b"-ASK 1 %b:%d\r\n" % (HOST.encode(), port)


def moved_once_connected(port, command):
    """Accepts connections, claims all slots, and redirects every key."""
    match command:
        case [b"PING"]:
            return b"+PONG\r\n"
        case [b"INFO", _]:
            return b"$0\r\n\r\n"
        case [b"CLUSTER", b"SLOTS"]:
            return b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$-1\r\n:%d\r\n" % port
        case [b"SENTINEL", *_]:
            return b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%d\r\n" % (len(str(port)), port)
        case _:
            return moved_to_itself(port, command)


@pytest.mark.parametrize("url", ["redis://{}", "redis+sentinel://{}/main", "redis+cluster://{}"])
@pytest.mark.parametrize(
    "reply_to",
    [moved_to_itself, moved_to_a_closed_port, moved_to_nowhere, asked_elsewhere, moved_once_connected],
)
async def test_every_operation_on_a_redirecting_server_fails_in_time(quiet_loop, url, reply_to):
    async with _scripted(reply_to) as port:
        store = await open_backend(RedisSettings(url=url.format(f"{HOST}:{port}")), SystemClock())
        try:
            for operation in [*OPERATIONS.values()] * ROUNDS:
                watch = Stopwatch()
                assert isinstance(await fault_of(operation(store)), BackendUnavailable | BackendMisconfigured)
                assert watch.seconds < LONGEST_CALL_SECONDS
        finally:
            await store.close()
