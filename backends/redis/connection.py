"""One socket to one Redis server, shared by any number of calls.

redis-py gives each call a connection of its own for as long as it lasts. Here all commands
of one turn of the event loop leave in one write, and replies are told apart by their order,
which Redis guarantees (https://redis.io/docs/latest/develop/using-commands/pipelining/).
"""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import hiredis

from backends.errors import BackendUnavailable
from backends.redis.replies import NOT_REDIS, fault_of

Argument = str | bytes | int
Reply = Any
"""What hiredis makes of RESP2: None, int, bytes, a list of these, or a `hiredis.ReplyError`."""

DEADLINE_SECONDS = 0.25
LOST = "the connection was lost"

_SECOND_LOOK_SECONDS = 0.005
_LONGEST_DOUBT_SECONDS = 0.04
_NO_LINGER = struct.pack("ii", 1, 0)
_INCOMPLETE = object()


@asynccontextmanager
async def deadline(at: float) -> AsyncIterator[None]:
    """BackendUnavailable when the loop's clock reads `at`, for what takes more than one command."""
    try:
        async with asyncio.timeout_at(at):
            yield
    except TimeoutError:
        raise BackendUnavailable("no answer in time") from None


def _nothing() -> None:
    """Nobody has asked yet."""


class Connection(asyncio.Protocol):
    """Sends commands, and ends as a whole as soon as one of them is not answered in time.

    Ending it is what keeps a late reply from reaching another call. There is no flow control:
    the cap on calls in flight bounds what is buffered.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = hiredis.Reader(notEnoughData=_INCOMPLETE)
        self._waiting: deque[tuple[float, asyncio.Future[Reply]]] = deque()
        self._unsent: list[bytes] = []
        self._watch: asyncio.TimerHandle | None = None
        self._looks_at = 0.0
        self._has_doubts = False
        self._fault = ""
        self._on_end: Callable[[], None] = _nothing
        self.is_overdue = False

    @property
    def in_flight(self) -> int:
        """Commands whose replies are still to come."""
        return len(self._waiting)

    @property
    def fault(self) -> str:
        """Why the connection ended; empty while it has not."""
        return self._fault

    def send(self, *command: Argument) -> asyncio.Future[Reply]:
        """The reply to come; BackendUnavailable if the connection ends before. May be cancelled."""
        reply: asyncio.Future[Reply] = self._loop.create_future()
        if self._fault:
            reply.set_exception(BackendUnavailable(self._fault))
            return reply
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub means one argument
        due = self._loop.time() + DEADLINE_SECONDS
        self._waiting.append((due, reply))
        if self._watch is None:
            self._look_at(due)
        return reply

    def send_asking(self, *command: Argument) -> asyncio.Future[Reply]:
        """Like `send`, to the node that a slot is on its way to."""
        self.send("ASKING").cancel()  # what it replies says nothing
        return self.send(*command)

    def when_ended(self, on_end: Callable[[], None]) -> None:
        """Call `on_end` once, when the connection ends, or now if it has."""
        self._on_end = on_end
        if self._fault:
            on_end()

    def end(self, fault: str) -> None:
        """Drop the connection and what it has not sent yet; every call in flight fails."""
        if not self._fault and not self._transport.is_closing():
            # without it the kernel would go on delivering, and a write that was given up could
            # be applied after a later one was acknowledged
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self._transport.abort()
        self._fail(fault)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._socket: socket.socket = transport.get_extra_info("socket")

    def data_received(self, data: bytes) -> None:
        if self._fault:
            return
        self._parser.feed(data)
        try:
            while (value := self._parser.gets()) is not _INCOMPLETE:
                self._answer(value)
        except (hiredis.ProtocolError, TypeError):  # the latter for RESP3 that Python cannot hold
            self.end(NOT_REDIS)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._fail(LOST)

    def _answer(self, value: Reply) -> None:
        if self._waiting:
            _, reply = self._waiting.popleft()
            if not reply.done():
                reply.set_result(value)
        elif isinstance(value, hiredis.ReplyError):  # before it hangs up, Redis may say why
            self.end(str(fault_of(value)))
        else:
            self.end(NOT_REDIS)

    def _fail(self, fault: str) -> None:
        if self._fault:
            return
        self._fault = fault
        if self._watch is not None:
            self._watch.cancel()
        for _, reply in self._waiting:
            if not reply.done():
                reply.set_exception(BackendUnavailable(fault))
        self._waiting.clear()
        self._on_end()

    def _flush(self) -> None:
        if not self._fault:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

    def _look_at(self, at: float) -> None:
        self._looks_at = at
        self._watch = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        """End the connection if its oldest call is overdue.

        A second look comes first, the later the more this process was held up: replies may be there unread.
        """
        self._watch = None
        had_doubts, self._has_doubts = self._has_doubts, False
        if not self._waiting:
            return
        now = self._loop.time()
        due, _ = self._waiting[0]
        if now < due:
            self._look_at(due)
        elif had_doubts:
            self.is_overdue = True
            self.end("no answer in time")
        else:
            self._has_doubts = True
            held_up = now - self._looks_at
            self._look_at(now + min(max(held_up, _SECOND_LOOK_SECONDS), _LONGEST_DOUBT_SECONDS))
