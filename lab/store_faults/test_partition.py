"""A write that was on its way to a store behind a partition is not applied when the partition heals (D89).

Each protection is taken away once, to show that the proof would notice. Needs root: `make faults`.
"""

import asyncio
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass

import pytest

from backends.dynamodb import transport as dynamodb_transport
from backends.dynamodb.transport import AiohttpTransport
from backends.errors import BackendUnavailable
from backends.redis.wire import connection as redis_connection
from backends.redis.wire.commands import pack
from backends.redis.wire.dialing import Access, dial
from backends.redis.wire.url import Address
from backends.sockets import UNACKNOWLEDGED_SECONDS
from lab.store_faults.partition import FAR_ADDRESS, namespaces, wait_for_repetitions
from tests.support.redis.binary import server_binary
from tests.support.stopwatch import PATIENCE_SECONDS

pytestmark = pytest.mark.heavy

PORT = 6379
CUT_SECONDS = 2 * UNACKNOWLEDGED_SECONDS
HERE = Access("", "", 0, None)


@pytest.fixture
def partition():
    with namespaces() as partition:
        yield partition


@pytest.fixture
def ask(partition):
    """Asks a Redis server on the far side, from there."""
    command = [
        server_binary(),
        "--port",
        str(PORT),
        "--bind",
        FAR_ADDRESS,
        "--save",
        "",
        "--protected-mode",
        "no",
    ]
    with partition.on_far_side():
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def ask(*words: str) -> bytes:
        with (
            partition.on_far_side(),
            socket.create_connection((FAR_ADDRESS, PORT), PATIENCE_SECONDS) as client,
        ):
            client.sendall(pack(*words))
            return client.recv(1000)

    ends_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            assert ask("PING") == b"+PONG\r\n"
            break
        except OSError:
            assert time.monotonic() < ends_at
            time.sleep(0.02)
    yield ask
    process.kill()
    process.wait()


def do_nothing(_: socket.socket) -> None:
    """Stands in for a protection."""


@dataclass(frozen=True)
class Case:
    """Behaviour of the process during the partition, and the protections that it lacks."""

    stands_still: bool
    missing: tuple[str, ...] = ()

    def take_away(self, monkeypatch, module) -> None:
        for protection in self.missing:
            monkeypatch.setattr(module, protection, do_nothing)


BY_KERNEL, BY_RESET = "drop_unacknowledged", "reset_when_closed"
CASES = {
    "the process stands still": Case(stands_still=True),
    "it stands still, and the kernel knows no limit": Case(stands_still=True, missing=(BY_KERNEL,)),
    "the process gives up": Case(stands_still=False),
    "it gives up without a reset": Case(stands_still=False, missing=(BY_KERNEL, BY_RESET)),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def outlast(partition) -> None:
    """Heals the partition, and gives the kernel time to repeat. The process stands still meanwhile."""
    time.sleep(CUT_SECONDS)
    partition.heal()
    wait_for_repetitions()


@cases
async def test_a_write_to_redis_is_lost_with_its_partition(partition, ask, monkeypatch, case):
    case.take_away(monkeypatch, redis_connection)
    connection = await dial(Address(FAR_ADDRESS, PORT), HERE)
    partition.cut()
    given_up = connection.send(pack("SET", "k", "old"))
    await asyncio.sleep(0.01)
    if not case.stands_still:
        with pytest.raises(BackendUnavailable):
            await given_up
        await asyncio.sleep(0)
    outlast(partition)
    assert ask("GET", "k") == (b"$3\r\nold\r\n" if case.missing else b"$-1\r\n")
    await asyncio.wait([given_up])
    given_up.exception()
    connection.end("the test is over")
    later = await dial(Address(FAR_ADDRESS, PORT), HERE)
    assert await later.send(pack("SET", "k", "new")) == b"OK"
    later.end("the test is over")
    await asyncio.sleep(0)
    assert ask("GET", "k") == b"$3\r\nnew\r\n"


@cases
async def test_a_request_to_dynamodb_is_lost_with_its_partition(partition, monkeypatch, case):
    case.take_away(monkeypatch, dynamodb_transport)
    received, writers = bytearray(), []

    async def answer(reader, writer):
        writers.append(writer)
        with suppress(ConnectionError):
            while piece := await reader.read(65536):
                received.extend(piece)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with partition.on_far_side():
        listening = socket.create_server((FAR_ADDRESS, PORT))
    async with await asyncio.start_server(answer, sock=listening):
        transport = AiohttpTransport(f"http://{FAR_ADDRESS}:{PORT}/")
        due = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        await transport.post({}, b"first", due)
        partition.cut()
        given_up = asyncio.ensure_future(transport.post({}, b"second", due))
        await asyncio.sleep(0.05)
        if not case.stands_still:
            given_up.cancel()
            await asyncio.wait([given_up])
            await asyncio.sleep(0.05)
        outlast(partition)
        await asyncio.sleep(0.2)
        assert b"first" in received
        assert (b"second" in received) is bool(case.missing)
        await asyncio.wait([given_up])
        if not given_up.cancelled():
            given_up.exception()
        await transport.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0.05)
