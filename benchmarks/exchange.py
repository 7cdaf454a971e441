"""Input of both generators, and a connection that sends one request at a time."""

import asyncio
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import cast

import msgspec
from msgspec import Struct

KEYS = [f"user:{number}".encode() for number in range(1024)]
VALUE = b'"%b"' % (b"x" * 1022)  # 1 KiB of JSON
GOOD = "as expected"
WARM_UP_SECONDS = 0.3
PATIENCE_SECONDS = 5.0

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class Exchange(Struct, frozen=True, array_like=True):
    """A request as it goes over the wire, and its answer: all of the body, or its beginning."""

    request: bytes
    body: bytes
    status: bytes = b"200"
    is_whole: bool = True


def write_exchanges(exchanges: Sequence[Exchange]) -> bytes:
    """For the standard input of a generator."""
    return msgspec.msgpack.encode(exchanges)


def read_exchanges() -> list[Exchange]:
    """Reads the exchanges that `write_exchanges` wrote."""
    return msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[Exchange])


class Connection(asyncio.Protocol):
    """Sends a request when asked to, and counts its outcome: `GOOD` or the kind of failure."""

    def __init__(self, verdicts: Counter[str]) -> None:
        self._verdicts = verdicts
        self._received = b""
        self._expected = Exchange(b"", b"")

    @abstractmethod
    def answered(self) -> None:
        """The last request was answered, and the next may be sent."""

    def send(self, exchange: Exchange) -> None:
        self._expected = exchange
        self._transport.write(exchange.request)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it

    def data_received(self, data: bytes) -> None:
        received = self._received + data
        head_end = received.find(_HEAD_END)
        if head_end < 0:
            self._received = received
            return
        body_start = head_end + len(_HEAD_END)
        if len(received) < body_start + _body_length(received[:head_end]):
            self._received = received
            return
        self._received = b""
        self._verdicts[_verdict(received, received[body_start:], self._expected)] += 1
        self.answered()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._verdicts["connection lost"] += 1


def _verdict(received: bytes, body: bytes, expected: Exchange) -> str:
    status = received[9:12]
    if status != expected.status:
        return f"status {status.decode()}"
    is_good = body == expected.body if expected.is_whole else body.startswith(expected.body)
    return GOOD if is_good else "unexpected body"


def _body_length(head: bytes) -> int:
    """An answer without the field has no body (204)."""
    length = head.lower().partition(_LENGTH)[2].partition(b"\r")[0]
    return int(length or 0)


async def pass_until(instant: float) -> None:
    """Poll instead of sleeping: waking a sleeping peer would be charged to the server under test."""
    while perf_counter() < instant:
        await asyncio.sleep(0)
