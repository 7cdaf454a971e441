"""One Redis server, kept connected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import hiredis

from backends.background import Background, jittered
from backends.breaker import Breaker
from backends.errors import BackendError, BackendUnavailable, as_backend_error
from backends.redis.wire.commands import pack
from backends.redis.wire.connection import LOST, Connection
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.wire.replies import NotMaster, PartlyRefused, error_of_command
from backends.redis.wire.resp import Reply
from backends.redis.wire.url import Address

log = logging.getLogger("kvs.redis")

PING = pack("PING")
MAX_IN_FLIGHT = 1000
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
"""Between attempts to connect: well below the second in which service is back."""

_SETTLED_SECONDS = 1.0
"""A connection that ends sooner counts as one more failed attempt."""

Dial = Callable[[], Awaitable[tuple[Address, Connection]]]
"""Finds the server and connects to it. Raises BackendError."""


class Server:
    """Sends each call once, and fails it at its deadline, or at once while the server is known to be down.

    Calls meet one of three states (D90):

    connected    they are sent
    connecting   right after a connection was lost, calls wait for the first attempt to make another one, so
                 that the restart of a proxy costs nobody anything
    down         the last attempt failed, or a reply was overdue: calls raise `_fault` at once, until an
                 attempt succeeds; so one request never waits for several deadlines of the same server

    `name` is what the log calls the server.
    """

    def __init__(self, name: str, dial: Dial, breaker: Breaker) -> None:
        self.name = name
        self._dial = dial
        self._breaker = breaker
        self.host = ""
        """Where it was at the last connection."""
        self._connection: Connection | None = None
        self._fault: BackendError | None = None
        self._decided = asyncio.Event()  # connected or down
        self._lost = asyncio.Event()
        self._waiting = 0
        self._failed_attempts = 0
        self._settles_at = 0.0
        self._connecting = Background(self._connect, self._pause_seconds, self._on_failed_attempt)

    def call(self, command: bytes) -> Awaitable[Reply]:
        """The reply to a command. Raises BackendError.

        Every request awaits this, so while connected the caller gets the reply's future itself: no coroutine
        comes in between, and the connection reports to the breaker (`_on_error_reply`).
        """
        connection = self._connection
        if connection is None or self._breaker.is_open or connection.in_flight >= MAX_IN_FLIGHT:
            return self._admit_and_send(command, Connection.send)
        return connection.send(command)

    def call_asking(self, command: bytes) -> Awaitable[Reply]:
        """Like `call`, to the node that a slot is moving to."""
        return self._admit_and_send(command, Connection.send_asking)

    def leave(self, fault: str) -> None:
        """End the connection: calls on their way fail, and another one is made to where the server is now."""
        if self._connection is not None:
            self._connection.end(fault)

    async def close(self) -> None:
        """Give the connection back; may be repeated."""
        await self._connecting.close()
        self._fault = BackendUnavailable("the store was closed")
        if self._connection is not None:
            self._connection.end("the store was closed")
        self._decided.set()

    async def _admit_and_send(
        self, command: bytes, send: Callable[[Connection, bytes], Awaitable[Reply]]
    ) -> Reply:
        """What `call` does while it cannot simply send."""
        due = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        self._breaker.admit()
        connection = self._connection
        if (self._waiting if connection is None else connection.in_flight) >= MAX_IN_FLIGHT:
            raise BackendUnavailable("too many calls in flight")
        if connection is None:
            connection = await self._next_connection(due)
        async with deadline(due):
            return await send(connection, command)

    async def _next_connection(self, due: float) -> Connection:
        """The one that the current attempt makes, if it does so before `due`."""
        self._waiting += 1
        try:
            async with deadline(due):
                await self._decided.wait()
        except BackendUnavailable as fault:
            if not self._decided.is_set():
                self._fail_calls(fault)
        finally:
            self._waiting -= 1
        if self._connection is not None:
            return self._connection
        if self._fault is None:  # made and lost in between
            raise BackendUnavailable(LOST)
        if isinstance(self._fault, BackendUnavailable):  # a wrong password costs nothing to refuse again
            self._breaker.failed(self._fault)
        raise self._fault.copy()

    async def _connect(self) -> None:
        """One attempt. If it succeeds, the connection serves calls until it ends."""
        address, connection = await self._dial()
        if self._fault is not None:
            log.info("redis is connected", extra={"fields": {"server": self.name, "address": str(address)}})
        self.host = address.host
        self._connection, self._fault = connection, None
        self._breaker.succeeded()
        self._decided.set()
        self._settles_at = asyncio.get_running_loop().time() + _SETTLED_SECONDS
        self._lost.clear()
        connection.report_to(
            on_error_reply=self._on_error_reply, on_recovery=self._breaker.succeeded, on_end=self._on_end
        )
        await self._lost.wait()

    def _on_failed_attempt(self, error: Exception) -> None:
        self._failed_attempts += 1
        self._fail_calls(as_backend_error(error))

    def _on_error_reply(self, reply: hiredis.ReplyError) -> BackendError:
        """The error that a call raises; what concerns all calls counts as a failure of the server (D91)."""
        error = error_of_command(reply, self.host)
        if isinstance(error, BackendUnavailable) and not isinstance(error, PartlyRefused):
            self._breaker.failed(error)
        else:
            self._breaker.succeeded()
        if isinstance(error, NotMaster) and self._connection is not None and self._is_settled:
            # look for the master, but not again and again if it is this one; first give out the replies
            # that arrived with this one
            asyncio.get_running_loop().call_soon(self._connection.end, str(error))
        return error

    def _on_end(self) -> None:
        self._failed_attempts = 0 if self._is_settled else self._failed_attempts + 1
        ended, self._connection = self._connection, None
        if ended is not None and (ended.is_overdue or self._failed_attempts):
            fault = BackendUnavailable(ended.fault)
            self._breaker.failed(fault)
            self._fail_calls(fault)
        else:
            self._decided.clear()
        self._lost.set()

    @property
    def _is_settled(self) -> bool:
        return asyncio.get_running_loop().time() >= self._settles_at

    def _fail_calls(self, fault: BackendError) -> None:
        """From now on calls fail at once."""
        if self._fault is None or self._fault.args != fault.args:
            fields = {"server": self.name, "reason": str(fault)}
            log.warning("redis is not connected", extra={"fields": fields})
        self._fault = fault
        self._decided.set()

    def _pause_seconds(self) -> float:
        """None after the loss of a good connection; then backoff with jitter (D90)."""
        if not self._failed_attempts:
            return 0.0
        return jittered(min(FIRST_PAUSE_SECONDS * 2 ** min(self._failed_attempts, 8), LONGEST_PAUSE_SECONDS))
