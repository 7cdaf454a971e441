"""One socket to one Redis server, shared by any number of calls (D87).

All commands of one turn of the event loop leave in one write. Replies carry no identifier: Redis answers in
the order of the commands (https://redis.io/docs/latest/develop/using-commands/pipelining/), so the next reply
belongs to the oldest command without one. The invariant: `_waiting` holds exactly the commands without a
reply, in the order in which they were sent. Hence

- a cancelled call stays in `_waiting`, and its reply is dropped on arrival;
- no command is sent twice on one connection, and none overtakes another;
- a connection that has missed a reply, or got one too many, is ended: every later reply would go to the wrong
  call.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import cast

from backends.clock import boot_seconds
from backends.errors import BackendUnavailable
from backends.redis.wire.commands import pack
from backends.redis.wire.deadlines import DEADLINE_SECONDS, NOT_IN_TIME, DeadlineTimer
from backends.redis.wire.replies import NOT_REDIS, error_of
from backends.redis.wire.resp import ErrorReply, NotResp, Reply, ReplyReader
from backends.sockets import drop_unacknowledged, reset_when_closed

LOST = "the connection was lost"

_ASKING = pack("ASKING")


def _unchanged(reply: ErrorReply) -> Exception:
    return reply


def _ignore() -> None:
    """Stands in for an owner that has not registered yet."""


class Connection(asyncio.Protocol):
    """A connection that pipelines the commands of all callers.

    It has no flow control: the owner's limit on commands in flight bounds the buffers.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._replies = ReplyReader()
        self._waiting: deque[tuple[float, asyncio.Future[Reply]]] = deque()
        self._unsent: list[bytes] = []
        self._unsent_since = 0.0
        self._timer = DeadlineTimer(self._oldest_due, self._on_overdue)
        self._fault = ""
        self._had_error_reply = False
        self._on_error_reply: Callable[[ErrorReply], Exception] = _unchanged
        self._on_recovery: Callable[[], None] = _ignore
        self._on_end: Callable[[], None] = _ignore
        self.is_overdue = False

    @property
    def in_flight(self) -> int:
        """The number of commands without a reply."""
        return len(self._waiting)

    @property
    def fault(self) -> str:
        """The reason why the connection ended; empty while it is open."""
        return self._fault

    def report_to(
        self,
        *,
        on_error_reply: Callable[[ErrorReply], Exception],
        on_recovery: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        """Registers the owner's callbacks.

        `on_error_reply` returns the exception that the command raises (without an owner: the `ErrorReply`).
        `on_recovery` is called at the first good reply after an error reply. `on_end` is called once, when
        the connection ends, or immediately if it already has.
        """
        self._on_error_reply = on_error_reply
        self._on_recovery = on_recovery
        self._on_end = on_end
        if self._fault:
            on_end()

    def send(self, command: bytes) -> asyncio.Future[Reply]:
        """Returns the future of the reply, which may be cancelled.

        The future raises the owner's exception for an error reply, and BackendUnavailable if the connection
        ends first.
        """
        reply: asyncio.Future[Reply] = self._loop.create_future()
        if self._fault:
            reply.set_exception(BackendUnavailable(self._fault).before_anything())
            return reply
        if not self._unsent:  # the first command of a turn of the loop schedules one write for all
            self._loop.call_soon(self._flush)
            self._unsent_since = boot_seconds()
        self._unsent.append(command)
        due = self._loop.time() + DEADLINE_SECONDS
        if not self._waiting:
            self._timer.start(due)
        self._waiting.append((due, reply))
        return reply

    def send_asking(self, command: bytes) -> asyncio.Future[Reply]:
        """Sends a command to the node that its slot is moving to.

        ASKING holds for the next command alone. No other can come between: both are queued in one step.
        """
        self.send(_ASKING).cancel()  # its reply is of no interest
        return self.send(command)

    def end(self, fault: str) -> None:
        """Resets the connection and drops unsent commands; every command in flight fails.

        SO_LINGER of 0 seconds makes the close a reset. After an orderly close our kernel would keep
        delivering: a write that was given up, and answered with 503, could then be applied after a later
        write of the same key that was acknowledged over the next connection (D89).
        """
        if not self._fault and not self._transport.is_closing():
            reset_when_closed(self._socket)
            self._transport.abort()
        self._fail(fault)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._socket: socket.socket = transport.get_extra_info("socket")
        drop_unacknowledged(self._socket)

    def data_received(self, data: bytes) -> None:
        if self.fault:
            return
        try:
            for value in self._replies.feed(data):
                if isinstance(value, ErrorReply):
                    self._raise(value)
                elif self._waiting:
                    _, reply = self._waiting.popleft()
                    if not reply.done():  # a cancelled call still consumes its reply
                        reply.set_result(value)
                    if self._had_error_reply:
                        self._had_error_reply = False
                        self._on_recovery()
                else:
                    self.end(NOT_REDIS)
                if self._fault:  # a callback may have ended the connection: the rest belongs to no call
                    return
        except NotResp:
            self.end(NOT_REDIS)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._fail(LOST)

    def _raise(self, error: ErrorReply) -> None:
        """Fails the oldest command without a reply."""
        if not self._waiting:  # Redis gives the reason before it closes a connection that it refuses
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
        """Sends the commands of this turn, unless they are late because the process stood still.

        The loop's own time would not do: uvloop reads the clock once in a turn.
        """
        if self._fault:
            return
        if boot_seconds() - self._unsent_since > DEADLINE_SECONDS:
            self._on_overdue()
            return
        self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _oldest_due(self) -> float | None:
        return self._waiting[0][0] if self._waiting else None

    def _on_overdue(self) -> None:
        """Ends the connection, not only the overdue command (D89).

        The late reply may still arrive. It cannot be distinguished from the reply to the next command, which
        would then get the value of another key, or the acknowledgement of another write.
        """
        self.is_overdue = True
        self.end(NOT_IN_TIME)
