"""One socket to one Redis server, shared by any number of calls (D87).

Commands of one turn of the event loop leave in one write. Replies carry no identifier: Redis answers
in the order of the commands (https://redis.io/docs/latest/develop/using-commands/pipelining/), so the
oldest command without a reply owns the next one. The invariant is that `_waiting` holds exactly the
commands without a reply, in the order in which they were sent. Hence

- a cancelled call keeps its place, and its reply is dropped when it comes;
- nothing is sent again on the same connection, and nothing overtakes;
- a connection that missed a reply, or got one too many, cannot be used any more.
"""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import cast

import hiredis

from backends.errors import BackendUnavailable
from backends.redis.wire.commands import pack
from backends.redis.wire.deadlines import DEADLINE_SECONDS, NOT_IN_TIME, DeadlineTimer
from backends.redis.wire.replies import NOT_REDIS, error_of
from backends.redis.wire.resp import NotResp, Reply, ReplyReader

LOST = "the connection was lost"

_NO_LINGER = struct.pack("ii", 1, 0)
_ASKING = pack("ASKING")


def _as_it_is(reply: hiredis.ReplyError) -> Exception:
    return reply


def _ignore() -> None:
    """No owner yet."""


class Connection(asyncio.Protocol):
    """Pipelines the commands of all callers.

    There is no flow control: the caller's limit on commands in flight bounds what is buffered.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._replies = ReplyReader()
        self._waiting: deque[tuple[float, asyncio.Future[Reply]]] = deque()
        self._unsent: list[bytes] = []
        self._timer = DeadlineTimer(self._oldest_due, self._on_overdue)
        self._fault = ""
        self._had_error_reply = False
        self._on_error_reply: Callable[[hiredis.ReplyError], Exception] = _as_it_is
        self._on_recovery: Callable[[], None] = _ignore
        self._on_end: Callable[[], None] = _ignore
        self.is_overdue = False

    @property
    def in_flight(self) -> int:
        """Commands without a reply."""
        return len(self._waiting)

    @property
    def fault(self) -> str:
        """Why the connection ended; empty while it has not."""
        return self._fault

    def report_to(
        self,
        *,
        on_error_reply: Callable[[hiredis.ReplyError], Exception],
        on_recovery: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        """Tell the owner what happens from now on.

        `on_error_reply` gives the exception that the command raises (until now: the `hiredis.ReplyError`),
        `on_recovery` is called at the first good reply after an error reply, `on_end` once, when the
        connection ends, or now if it has.
        """
        self._on_error_reply = on_error_reply
        self._on_recovery = on_recovery
        self._on_end = on_end
        if self._fault:
            on_end()

    def send(self, command: bytes) -> asyncio.Future[Reply]:
        """The reply to come; raises what the owner makes of an error reply, or BackendUnavailable at the end.

        May be cancelled.
        """
        reply: asyncio.Future[Reply] = self._loop.create_future()
        if self._fault:
            reply.set_exception(BackendUnavailable(self._fault))
            return reply
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(command)
        due = self._loop.time() + DEADLINE_SECONDS
        if not self._waiting:
            self._timer.start(due)
        self._waiting.append((due, reply))
        return reply

    def send_asking(self, command: bytes) -> asyncio.Future[Reply]:
        """Like `send`, to the node that a slot is moving to."""
        self.send(_ASKING).cancel()  # its reply says nothing; the pair stays adjacent, as Redis requires
        return self.send(command)

    def end(self, fault: str) -> None:
        """Drop the connection and what it has not sent yet; every command in flight fails.

        The socket is closed with a reset (SO_LINGER of 0 seconds). An orderly close would let our kernel go
        on delivering: a write that was given up, and answered with 503, could then be applied after a later
        one of the same key that was acknowledged over the next connection (D119).
        """
        if not self._fault and not self._transport.is_closing():
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self._transport.abort()
        self._fail(fault)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._socket: socket.socket = transport.get_extra_info("socket")

    def data_received(self, data: bytes) -> None:
        if self.fault:
            return
        try:
            for value in self._replies.feed(data):
                if isinstance(value, hiredis.ReplyError):
                    self._raise(value)
                elif self._waiting:
                    _, reply = self._waiting.popleft()
                    if not reply.done():
                        reply.set_result(value)
                    if self._had_error_reply:
                        self._had_error_reply = False
                        self._on_recovery()
                else:
                    self.end(NOT_REDIS)
                if self._fault:  # what follows belongs to nobody
                    return
        except NotResp:
            self.end(NOT_REDIS)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._fail(LOST)

    def _raise(self, error: hiredis.ReplyError) -> None:
        """Let the oldest command without a reply fail."""
        if not self._waiting:  # before it closes the connection, Redis may say why
            self.end(str(error_of(error)))
            return
        self._had_error_reply = True
        exception = self._on_error_reply(error)
        _, reply = self._waiting.popleft()
        if not reply.done():
            reply.set_exception(exception)

    def _fail(self, fault: str) -> None:
        if self._fault:
            return
        self._fault = fault
        self._timer.stop()
        for _, reply in self._waiting:
            if not reply.done():
                reply.set_exception(BackendUnavailable(fault))
        self._waiting.clear()
        self._on_end()

    def _flush(self) -> None:
        if not self._fault:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

    def _oldest_due(self) -> float | None:
        return self._waiting[0][0] if self._waiting else None

    def _on_overdue(self) -> None:
        """End the connection, and not the overdue command alone (D89).

        Its reply may still come. Nothing would tell it from the reply to the next command, which would then
        get it: the value of another key, or the acknowledgement of another write.
        """
        self.is_overdue = True
        self.end(NOT_IN_TIME)
