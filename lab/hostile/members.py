"""The hostile clients of one crowd, a process of their own; its argument is JSON."""

import asyncio
import json
import socket
import sys
import time
from typing import Any

from lab.hostile.limits import raise_file_limit

_AT_ONCE = 10
_DRIP_SECONDS = 0.3


class Member(asyncio.Protocol):
    """Never closes by itself."""

    def __init__(self, opening: bytes, *, reads: bool) -> None:
        self._opening, self._reads = opening, reads
        self.received = b""
        self.opened_at = time.monotonic()
        self.closed: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        if not self._reads:
            transport.pause_reading()
        transport.write(self._opening)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> None:
        self._note_end()

    def connection_lost(self, _: Exception | None) -> None:
        self._note_end()

    def _note_end(self) -> None:
        if not self.closed.done():
            self.closed.set_result(time.monotonic() - self.opened_at)


async def _connect(host: str, port: int, member: Member, *, reads: bool) -> None:
    wire = socket.socket()
    wire.setblocking(False)
    if not reads:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(wire, (host, port))
    await loop.create_connection(lambda: member, sock=wire)


async def _drip(members: list[Member], drip: bytes) -> None:
    while drip:
        await asyncio.sleep(_DRIP_SECONDS)
        for member in members:
            if not member.closed.done():
                member.transport.write(drip)


async def attack(
    host: str, port: int, size: int, opening: str, drip: str, *, reads: bool, pace_seconds: float
) -> None:
    """Connects, reports it, waits until all connections are closed, and reports the answers."""
    began = time.monotonic()
    members = []
    for number in range(size):
        members.append(Member(opening.encode("latin-1"), reads=reads))
        await _connect(host, port, members[-1], reads=reads)
        if number % _AT_ONCE == 0:
            await asyncio.sleep(pace_seconds)
    _say(connect_seconds=time.monotonic() - began)
    dripping = asyncio.create_task(_drip(members, drip.encode("latin-1")))
    seconds = await asyncio.gather(*(member.closed for member in members))
    dripping.cancel()
    answers = {member.received.decode("latin-1") for member in members}
    _say(
        longest_seconds=max(seconds),
        statuses=sorted({answer.partition("\r\n")[0] for answer in answers}),
        bodies=sorted({answer.rpartition("\r\n\r\n")[2] for answer in answers}),
    )


def _say(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise_file_limit()
    asyncio.run(attack(**json.loads(sys.stdin.readline())))
