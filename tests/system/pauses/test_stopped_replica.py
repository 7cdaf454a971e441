"""A stopped replica does not undo later what others have acknowledged meanwhile (D19)."""

import asyncio
import signal
import socket
import struct
from contextlib import AsyncExitStack
from itertools import product

import pytest

from tests.support.config import BASE, merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.redis import RedisServer
from tests.support.replicas import log_of, until_ready
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import parse_replies, read_reply, signed_call, until

STOPPED_SECONDS = 1.5
RESET = struct.pack("ii", 1, 0)

OPERATIONS, CONNECTIONS, ENDS = ("put", "delete"), ("new", "kept"), ("waits", "closes", "resets")


@pytest.fixture
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
async def replicas(server, tmp_path):
    """Two replicas on one store: their processes and clients."""
    async with AsyncExitStack() as opened:
        started = []
        for name in ("stopped", "other"):
            folder = tmp_path / name
            folder.mkdir()
            config = merged(BASE, {"store": {"kind": "redis", "url": server.url}})
            process = await asyncio.to_thread(GatewayProcess, config, folder)
            opened.enter_context(process)
            gateway = await opened.enter_async_context(client_of(process))
            await until_ready(gateway)
            started.append((process, gateway))
        yield started


class OldAttempt:
    """A client whose write the replica has not read when it is stopped."""

    def __init__(self, operation: str, connection: str, end: str) -> None:
        self.key = f"{operation} {connection} {end}"
        self._operation, self._connection, self._end = operation, connection, end

    async def open(self, gateway) -> None:
        self._reader, self._writer = await gateway.connect()
        if self._connection == "kept":
            self._writer.write(signed_call(gateway, "get", b'{"key": "nothing"}', extra=()))
            assert (await read_reply(self._reader)).status == 200

    async def send(self, gateway) -> None:
        """Sends, and gives up unless it waits. The replica is stopped."""
        if self._connection == "new":
            self._writer.close()
            await self.open(gateway)
        value = b', "value": "old"' if self._operation == "put" else b""
        body = b'{"key": "%s"%s}' % (self.key.encode(), value)
        self._writer.write(signed_call(gateway, self._operation, body, extra=()))
        await self._writer.drain()
        if self._end == "resets":
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        if self._end != "waits":
            self._writer.close()

    async def end(self) -> None:
        """Is refused, if it has waited."""
        if self._end == "waits":
            async with asyncio.timeout(PATIENCE_SECONDS):
                (reply,) = parse_replies(await self._reader.read())
            assert (reply.status, reply.error) == (503, "overloaded")
            self._writer.close()


async def value_at(gateway, key: str) -> object:
    """Reads, and repeats what is refused: a moment after the stop a new connection still counts as old."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (reply := await gateway.get(key)).error == "overloaded":  # noqa: ASYNC110 - asked over HTTP
            await asyncio.sleep(0.02)
    return reply.json["value"]


async def test_no_write_from_before_a_stop_undoes_a_later_one(replicas):
    (process, stopped), (_, other) = replicas
    attempts = [OldAttempt(*each) for each in product(OPERATIONS, CONNECTIONS, ENDS)]
    for each in attempts:
        await each.open(stopped)
    process.signal(signal.SIGSTOP)
    try:
        for each in attempts:
            await each.send(stopped)
        for each in attempts:
            assert (await other.put(each.key, "old")).status == 200
            assert (await other.put(each.key, "new")).status == 200
        await asyncio.sleep(STOPPED_SECONDS)
    finally:
        process.signal(signal.SIGCONT)
    for each in attempts:
        await each.end()
    await until(lambda: log_of(process, "kvs.fence"))
    for each in attempts:
        assert await value_at(stopped, each.key) == "new"
