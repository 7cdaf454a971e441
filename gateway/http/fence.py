"""The fence against late writes: this process may stand still at any moment, for any time.

A signal, a frozen control group, or a suspended or starved machine stops it. Meanwhile requests wait in the
kernel and in this process, and their clients give up and repeat them at another replica. An old put that is
executed afterwards would undo changes that were acknowledged since (D19). So

- A standstill is noticed by the gap between two beats. A write that is late checks the gap as well, because
  the loop may run the callbacks of sockets before the timer of the beat.
- No request that was received before the end of a standstill is begun. At its end `distrust` is called on
  each connection; only a connection between two requests, with no unread bytes in the kernel, stays trusted.
  A connection that is accepted later is judged by the age of its bytes.
- The bytes of a paused connection wait in the kernel, and count as old as the pause (`Backlog`).
- A write that is late without a standstill of a second is not begun if its client has left. For a write in
  time, the end of the client's bytes proves nothing: a client that half-closes waits for its answer. After
  `LATEST_SECONDS` a write is not begun for any client.

A stop within one turn of the loop, between the last check and the write itself, goes unnoticed.
"""

import asyncio
import fcntl
import logging
import socket
import struct
import sys
import termios
from collections.abc import Callable
from math import inf

log = logging.getLogger("kvs.fence")

STANDSTILL_SECONDS = 1.0
LATE_SECONDS = 0.35
"""Age of a write from which it is late. The real age may be up to two beats lower."""

LATEST_SECONDS = 3.0
"""Age of a request from which no write is begun, even if its client waits: many short stops, or slow stores,
may add up. If a client behind a proxy gives up, by default after 5 s, the gateway does not see it."""

_BEAT_SECONDS = 0.1
_BACKLOG_SECONDS = 10.0
"""Longer than a full backlog of connections waits to be accepted."""

_JIFFIES_SECONDS = 0.02
"""Resolution of the kernel's ages: one tick of its timer, at least 100 a second, and a margin."""

_LAST_DATA_RECEIVED = 52  # offset in Linux' struct tcp_info, in milliseconds; its first byte is the state
_ESTABLISHED = 1


class Fence:
    """Notices standstills by `now`, seconds that also count while the machine is suspended.

    `since`: bytes that are taken from the kernel now have come after this moment. It is the time of the last
    but one beat, because each turn of the loop empties all sockets, and two beats are never in one turn.
    `beat_at` is infinite until the first beat, so no standstill is noticed before it.
    """

    __slots__ = ("_distrust", "_ended_at", "beat_at", "now", "since")

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.beat_at = self.since = inf
        self._ended_at = -inf
        self._distrust: list[Callable[[], None]] = []

    def on_standstill(self, distrust: Callable[[], None]) -> None:
        """Registers a callback for the end of each standstill."""
        self._distrust.append(distrust)

    async def beat_on(self) -> None:
        """Beats until it is cancelled."""
        try:
            while True:
                self.beat()
                await asyncio.sleep(_BEAT_SECONDS)
        finally:
            self.beat_at = inf

    def beat(self) -> None:
        """Beats once."""
        now = self.check()
        self.since, self.beat_at = min(self.beat_at, now), now

    def check(self) -> float:
        """Distrusts everything that connections hold if there was a standstill. Returns the time."""
        now = self.now()
        if now - self.beat_at > STANDSTILL_SECONDS:
            self._end(now)
        return now

    def _end(self, now: float) -> None:
        log.warning("this process stood still", extra={"fields": {"seconds": round(now - self.beat_at, 3)}})
        self.since = self.beat_at = self._ended_at = now
        for distrust in self._distrust:
            distrust()

    def is_from_before(self, transport: asyncio.BaseTransport) -> bool:
        """Tests whether a new connection holds bytes that were received before the last standstill ended.

        A connection that was accepted in time has young bytes, or none yet.
        """
        seconds = self.now() - self._ended_at
        if seconds > _BACKLOG_SECONDS or not unread_bytes(transport):
            return False
        return _silent_seconds(transport) + _JIFFIES_SECONDS >= seconds


class Backlog:
    """Ages of bytes that wait in the kernel because their connection is paused.

    It begins with a pause and ends when the kernel holds nothing. All bytes that the kernel holds at one
    moment have come before it, and the bytes behind them after it.
    """

    __slots__ = ("_fence", "_held_bytes", "_next_since", "_since", "_transport")

    def __init__(self, fence: Fence, transport: asyncio.BaseTransport) -> None:
        self._fence = fence
        self._transport = transport
        self._since = self._next_since = fence.since
        self._held_bytes = 0

    @property
    def is_over(self) -> bool:
        """Tests whether the kernel holds nothing."""
        return not unread_bytes(self._transport)

    def take(self, size: int) -> float:
        """Returns the moment after which the bytes came that are taken now."""
        if self._held_bytes <= 0:
            self._since, self._next_since = self._next_since, self._fence.since
            self._held_bytes = size + unread_bytes(self._transport)
        self._held_bytes -= size
        return self._since


def unread_bytes(transport: asyncio.BaseTransport) -> int:
    """Counts the bytes in the kernel that were not taken; 1 if it does not say."""
    unread = bytearray(struct.calcsize("i"))
    try:
        fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.FIONREAD, unread)
    except (OSError, ValueError, AttributeError):
        return 1
    return int(struct.unpack("i", unread)[0])


def has_left(transport: asyncio.BaseTransport) -> bool:
    """Tests whether the client has closed or reset the connection, even behind unread bytes."""
    info = _tcp_info(transport)
    return bool(info) and info[0] != _ESTABLISHED


def _silent_seconds(transport: asyncio.BaseTransport) -> float:
    """Returns the age of the last received byte; infinite if that is unknown."""
    info = _tcp_info(transport)
    if len(info) < _LAST_DATA_RECEIVED + 4:
        return inf
    return float(struct.unpack_from("I", info, _LAST_DATA_RECEIVED)[0]) / 1000


def _tcp_info(transport: asyncio.BaseTransport) -> bytes:
    connection: socket.socket | None = transport.get_extra_info("socket")
    if sys.platform != "linux" or connection is None:
        return b""
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECEIVED + 4)
    except OSError:  # the connection is closed
        return bytes(1)
