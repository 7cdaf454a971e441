"""One Redis server: its connection, deadlines, circuit breaker and limit on calls in flight."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from backends.background import Background, jittered
from backends.breaker import Breaker
from backends.errors import BackendError, BackendUnavailable, as_backend_error
from backends.redis.wire.commands import pack
from backends.redis.wire.connection import LOST, Connection
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.wire.replies import NotMaster, PartlyRefused, error_of_command
from backends.redis.wire.resp import ErrorReply, Reply
from backends.redis.wire.url import Address

log = logging.getLogger("kvs.redis")

PING = pack("PING")
MAX_IN_FLIGHT = 1000
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 0.5
"""Longest pause between two attempts to connect. Service is promised back within a second."""

_QUICK_ATTEMPTS = 5
"""Attempts before the pause grows: a server whose connections are cut five times within 2 s is connected for
most of that time, so a poll of the change feed succeeds."""

_SETTLED_SECONDS = 1.0
"""A connection that ends sooner counts as one more failed attempt."""

Dial = Callable[[], Awaitable[tuple[Address, Connection]]]
"""Finds the server and connects to it. Raises BackendError."""


class Server:
    """A server that is kept connected. Each call is sent once, and fails at its deadline at the latest.

    It is in one of three states (D90):

    connected    calls are sent
    connecting   a connection has just been lost: calls wait for the first attempt to connect again, so the
                 restart of a proxy fails no call
    down         the last attempt failed, or a reply was overdue: calls raise `_fault` immediately until an
                 attempt succeeds, so one request never waits for several deadlines of the same server

    `_decided` is set while connected or down, and clear while connecting. `name` is for the log.
    """

    def __init__(self, name: str, dial: Dial, breaker: Breaker) -> None:
        self.name = name
        self._dial = dial
        self._breaker = breaker
        self.host = ""
        """The host of the last connection."""
        self._connection: Connection | None = None
        self._fault: BackendError | None = None
        self._decided = asyncio.Event()
        self._lost = asyncio.Event()
        self._waiting = 0
        self._failed_attempts = 0
        self._settles_at = 0.0
        self._connecting = Background(self._connect, self._pause_seconds, self._on_failed_attempt)

    def call(self, command: bytes) -> Awaitable[Reply]:
        """Returns the reply to a command. Raises BackendError.

        Every request awaits this, so while connected the caller gets the reply's future itself, without a
        coroutine in between. The outcome reaches the breaker through the connection (`_on_error_reply`).
        """
        connection = self._connection
        if connection is None or self._breaker.is_open or connection.in_flight >= MAX_IN_FLIGHT:
            return self._admit_and_send(command, Connection.send)
        return connection.send(command)

    def call_asking(self, command: bytes) -> Awaitable[Reply]:
        """Calls the node that a slot is moving to, which serves the key after ASKING only."""
        return self._admit_and_send(command, Connection.send_asking)

    def leave(self, fault: str) -> None:
        """Ends the connection: calls in flight fail, and the server is looked for and connected to again."""
        if self._connection is not None:
            self._connection.end(fault)

    async def close(self) -> None:
        """Closes the connection; may be repeated."""
        await self._connecting.close()
        self._fault = BackendUnavailable("the store was closed")
        if self._connection is not None:
            self._connection.end("the store was closed")
        self._decided.set()

    async def _admit_and_send(
        self, command: bytes, send: Callable[[Connection, bytes], Awaitable[Reply]]
    ) -> Reply:
        """Handles calls that cannot be sent directly: not connected, breaker open, or limit reached."""
        due = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        try:
            connection = await self._admitted_connection(due)
        except BackendError as error:
            raise error.before_anything() from None
        async with deadline(due):
            return await send(connection, command)

    async def _admitted_connection(self, due: float) -> Connection:
        """Returns a connection that may send one more command. Raises BackendError."""
        self._breaker.admit()
        connection = self._connection
        if (self._waiting if connection is None else connection.in_flight) >= MAX_IN_FLIGHT:
            raise BackendUnavailable("too many calls in flight")
        return connection or await self._next_connection(due)

    async def _next_connection(self, due: float) -> Connection:
        """Returns the connection of the current attempt, if that succeeds before `due`."""
        self._waiting += 1
        try:
            async with deadline(due):
                await self._decided.wait()
        except BackendUnavailable as fault:
            if not self._decided.is_set():  # the attempt hangs: later calls need not wait as long
                self._fail_calls(fault)
        finally:
            self._waiting -= 1
        if self._connection is not None:
            return self._connection
        if self._fault is None:  # connected and lost again before this task ran
            raise BackendUnavailable(LOST)
        if isinstance(self._fault, BackendUnavailable):  # the breaker saves nothing after a wrong password
            self._breaker.failed(self._fault)
        raise self._fault.copy()

    async def _connect(self) -> None:
        """Attempts once to connect; if that succeeds, returns when the connection ends."""
        address, connection = await self._dial()
        if self._fault is not None:
            log.info("redis is connected", extra={"fields": {"server": self.name, "address": str(address)}})
        self.host = address.host
        self._connection, self._fault = connection, None
        self._breaker.succeeded()
        self._decided.set()
        self._settles_at = asyncio.get_running_loop().time() + _SETTLED_SECONDS
        self._lost.clear()  # before `report_to`: it calls `_on_end` now if this connection has ended
        connection.report_to(
            on_error_reply=self._on_error_reply, on_recovery=self._breaker.succeeded, on_end=self._on_end
        )
        await self._lost.wait()

    def _on_failed_attempt(self, error: Exception) -> None:
        self._failed_attempts += 1
        self._fail_calls(as_backend_error(error))

    def _on_error_reply(self, reply: ErrorReply) -> BackendError:
        """Returns the error that the call raises; one that concerns all calls counts as a failure (D90)."""
        error = error_of_command(reply, self.host)
        if isinstance(error, BackendUnavailable) and not isinstance(error, PartlyRefused):
            self._breaker.failed(error)
        else:
            self._breaker.succeeded()
        if isinstance(error, NotMaster) and self._connection is not None and self._is_settled:
            # Look for the master. A server that stays READONLY is left once per `_SETTLED_SECONDS` at most.
            # `call_soon`, because replies that arrived with this one still have to reach their calls.
            asyncio.get_running_loop().call_soon(self._connection.end, str(error))
        return error

    def _on_end(self) -> None:
        """Decides between connecting and down.

        A settled connection that was lost leads to connecting: most losses are the restart of a proxy in
        between. After an overdue reply, or a connection that did not settle, waiting would only add up.
        """
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
        """Makes the server down: calls fail immediately with `fault`."""
        if self._fault is None or self._fault.args != fault.args:
            fields = {"server": self.name, "reason": str(fault)}
            log.warning("redis is not connected", extra={"fields": fields})
        self._fault = fault
        self._decided.set()

    def _pause_seconds(self) -> float:
        """Returns 0 after the loss of a settled connection, otherwise a backoff with jitter (D90)."""
        if not self._failed_attempts:
            return 0.0
        doublings = min(max(self._failed_attempts - _QUICK_ATTEMPTS, 0), 8)
        return jittered(min(FIRST_PAUSE_SECONDS * 2**doublings, LONGEST_PAUSE_SECONDS))
