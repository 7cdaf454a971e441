"""A caller of the data plane beside other work: one call after the other, with a pause.

A program: `python -m benchmarks.beside PORT`. It calls until its input ends, then writes when each call began
(on the clock that all processes of a machine share) and how long it took, in seconds. Requests are those of
the bench's one declared table.
"""

import socket
import sys
import threading
from collections.abc import Callable
from time import monotonic, sleep

import msgspec

from benchmarks.exchange import Exchange
from benchmarks.processes import Unmeasurable
from benchmarks.signed import signed_exchanges

_PAUSE_SECONDS = 0.002
_UNAVAILABLE = b'_unavailable"}'
"""How a refusal ends where the store was too late, which counts like any other call."""

Calls = list[tuple[float, float]]


def _calls(port: int, is_over: Callable[[], bool]) -> Calls:
    put, get = (signed_exchanges(port, operation)[0] for operation in ("put", "get"))
    made: Calls = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not is_over():
            for exchange in (put, get):
                began = monotonic()
                _exchange(connection, exchange)
                made.append((began, monotonic() - began))
                sleep(_PAUSE_SECONDS)
    return made


def _exchange(connection: socket.socket, exchange: Exchange) -> None:
    connection.sendall(exchange.request)
    received = b""
    while not received.endswith((exchange.body, _UNAVAILABLE)):
        more = connection.recv(65_536)
        if not more:
            raise Unmeasurable("the gateway ended a connection")
        received += more


if __name__ == "__main__":
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.buffer.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    sys.stdout.buffer.write(msgspec.json.encode(_calls(int(sys.argv[1]), ended.is_set)))
