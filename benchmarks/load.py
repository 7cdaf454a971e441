"""A closed-loop generator: each connection sends its next request when the last is answered.

Reads the requests from standard input (each length-prefixed), prints one JSON line.
"""

import asyncio
import json
import sys
from functools import partial
from time import perf_counter
from typing import cast

import uvloop

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class _Connection(asyncio.Protocol):
    """Sends its share of the requests round and round, and counts answers by status."""

    def __init__(self, requests: list[bytes], statuses: dict[str, int]) -> None:
        self._requests = requests
        self._statuses = statuses
        self._next = 0
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._send()

    def data_received(self, data: bytes) -> None:
        received = self._received + data
        head_end = received.find(_HEAD_END)
        if head_end < 0 or len(received) < head_end + len(_HEAD_END) + _body_length(received, head_end):
            self._received = received
            return
        self._received = b""
        status = received[9:12].decode()
        self._statuses[status] = self._statuses.get(status, 0) + 1
        self._send()

    def _send(self) -> None:
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1


def _body_length(received: bytes, head_end: int) -> int:
    start = received.lower().find(_LENGTH, 0, head_end) + len(_LENGTH)
    return int(received[start : received.find(b"\r", start)])


async def _run(port: int, connections: int, seconds: float, requests: list[bytes]) -> None:
    statuses: dict[str, int] = {}
    loop = asyncio.get_running_loop()
    for number in range(connections):
        own = partial(_Connection, requests[number::connections] or requests, statuses)
        await loop.create_connection(own, "127.0.0.1", port)
    awake = asyncio.create_task(_stay_awake())
    await asyncio.sleep(0.5)
    before, started = dict(statuses), perf_counter()
    await asyncio.sleep(seconds)
    elapsed = perf_counter() - started
    awake.cancel()
    rates = {status: (count - before.get(status, 0)) / elapsed for status, count in statuses.items()}
    print(json.dumps(rates))


async def _stay_awake() -> None:
    """Poll instead of sleeping: waking a sleeping peer would be charged to the server under test."""
    while True:
        await asyncio.sleep(0)


def _read_requests() -> list[bytes]:
    stream = sys.stdin.buffer
    requests = []
    while size := stream.read(4):
        requests.append(stream.read(int.from_bytes(size, "big")))
    return requests


if __name__ == "__main__":
    uvloop.run(_run(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), _read_requests()))
