"""A connection without sockets: bytes go in packet by packet; requests and answers are kept."""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gateway.config.settings import EdgeSettings
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import Refusal
from gateway.http.body import BodySlots, read_body
from gateway.http.connection import Connection
from gateway.http.messages import Request, Response
from gateway.http.service import Service
from tests.support.clock import FakeClock
from tests.support.strict_http import Sent, read

_STATUS = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ")
_QUIET_STEPS = 12
"""Steps of the event loop after which nothing more will happen without new bytes."""


@dataclass
class Outcome:
    """The requests that were executed, and the bytes of all answers."""

    executed: list[Sent] = field(default_factory=list)
    written: bytes = b""

    @property
    def statuses(self) -> list[int]:
        return [int(status) for status in _STATUS.findall(self.written)]

    def assert_agrees(self, sent: bytes) -> None:
        """Asserts that a prefix of the requests in the bytes was executed, and each answered once."""
        count = len(self.executed)
        assert self.executed == read(sent)[:count]
        assert all(status == 200 for status in self.statuses[:count])
        assert len(self.statuses) <= count + 1
        if self.statuses[count:]:
            assert 400 <= self.statuses[count] < 500
            assert b"\r\nConnection: close\r\n" in self.written[self.written.rindex(b"HTTP/1.1 ") :]


class _Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.reads, self.closing, self.lost = True, False, False
        self.protocol: Connection | None = None

    def write(self, data: Any) -> None:
        self.written += data

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def is_closing(self) -> bool:
        return self.closing

    def is_reading(self) -> bool:
        return self.reads

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        if not self.closing:
            self.closing = True
            asyncio.get_running_loop().call_soon(self._lose)

    abort = close

    def _lose(self) -> None:
        self.lost = True
        assert self.protocol is not None
        self.protocol.connection_lost(None)


async def play(packets: Iterable[bytes], edge: EdgeSettings, steps: int = 0) -> Outcome:
    """Plays the packets, `steps` of the loop apart, then the end of the client's input."""
    outcome = Outcome()
    slots = BodySlots(10)

    async def handle(request: Request) -> Response:
        try:
            body = await read_body(request, 2**20, 60.0, slots)
        except Refusal as refusal:
            return Response(refuse(refusal))
        fields = dict(request.headers)
        outcome.executed.append(Sent(request.method.encode(), request.target, fields, body))
        return Response(Answer(200, b"{}"))

    connection, wire = Connection(Service(handle, edge, FakeClock())), _Wire()
    wire.protocol = connection
    connection.connection_made(wire)
    for packet in packets:
        if not wire.reads:
            await _settle(wire, outcome)
        if wire.closing:
            break
        connection.data_received(packet)
        for _ in range(steps):
            await asyncio.sleep(0)
    await _settle(wire, outcome)
    if not wire.closing and not connection.eof_received():
        wire.close()
    await _settle(wire, outcome)
    wire.close()
    await _settle(wire, outcome)
    assert wire.lost
    outcome.written = wire.written
    return outcome


async def _settle(wire: _Wire, outcome: Outcome) -> None:
    """Waits until nothing changes any more."""
    quiet, last = 0, (0, 0, False)
    while quiet < _QUIET_STEPS:
        await asyncio.sleep(0)
        now = (len(wire.written), len(outcome.executed), wire.lost)
        quiet, last = (quiet + 1 if now == last else 0), now
