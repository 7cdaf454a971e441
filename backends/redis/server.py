"""One Redis server, kept connected."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence

import hiredis

from backends.breaker import Breaker
from backends.errors import BackendError, BackendUnavailable
from backends.redis.connection import DEADLINE_SECONDS, Argument, Connection, Reply, deadline
from backends.redis.replies import NotMaster, PartlyRefused, fault_of_command
from backends.redis.url import Address

log = logging.getLogger("kvs.redis")

MAX_IN_FLIGHT = 1000
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
"""Between attempts to connect: well below the second in which service is back."""

_SETTLED_SECONDS = 1.0
"""A connection that ends sooner counts as one more failed attempt."""

Dial = Callable[[], Awaitable[tuple[Address, Connection]]]
"""Finds the server and connects to it. Raises BackendError."""


class Server:
    """Sends each call once, and fails it at its deadline, or at once while the server is known to be away.

    Right after a connection was lost, calls wait for the first attempt to make another. `name` is
    what the log calls it.
    """

    def __init__(self, name: str, dial: Dial, breaker: Breaker) -> None:
        self._name = name
        self._dial = dial
        self._breaker = breaker
        self._host = ""
        self._connection: Connection | None = None
        self._fault: BackendError | None = None
        self._decided = asyncio.Event()
        self._lost = asyncio.Event()
        self._waiting = 0
        self._failed_attempts = 0
        self._settles_at = 0.0
        self._keeper = asyncio.create_task(self._keep_connected())

    async def call(self, *command: Argument, is_asking: bool = False) -> Reply:
        """The reply to a command. Raises BackendError."""
        self._breaker.admit()
        connection = self._connection
        if (self._waiting if connection is None else connection.in_flight) >= MAX_IN_FLIGHT:
            raise BackendUnavailable("too many calls in flight")
        try:
            if connection is None:
                reply = await self._send_late(command, is_asking=is_asking)
            else:
                reply = await _send(connection, command, is_asking=is_asking)
        except BackendUnavailable as fault:
            if self._decided.is_set():  # else one lost connection would count once per call
                self._breaker.failed(fault)
            raise
        if isinstance(reply, hiredis.ReplyError):
            raise self._judge(reply)
        self._breaker.succeeded()
        return reply

    async def close(self) -> None:
        """Give the connection back; may be repeated."""
        self._keeper.cancel()
        await asyncio.wait([self._keeper])
        self._fault = BackendUnavailable("the store was closed")
        if self._connection is not None:
            self._connection.end("the store was closed")
        self._decided.set()

    def _judge(self, refusal: hiredis.ReplyError) -> BackendError:
        fault = fault_of_command(refusal, self._host)
        if isinstance(fault, BackendUnavailable) and not isinstance(fault, PartlyRefused):
            self._breaker.failed(fault)
        else:
            self._breaker.succeeded()
        if isinstance(fault, NotMaster) and self._connection is not None and self._is_settled:
            self._connection.end(str(fault))  # look for the master, but not again and again if it is this one
        return fault

    @property
    def _is_settled(self) -> bool:
        return asyncio.get_running_loop().time() >= self._settles_at

    async def _send_late(self, command: Sequence[Argument], *, is_asking: bool) -> Reply:
        """Send over what the attempt under way comes to, if it does so before the deadline."""
        self._waiting += 1
        try:
            async with deadline(asyncio.get_running_loop().time() + DEADLINE_SECONDS):
                await self._decided.wait()
                if self._connection is None:
                    fault = self._fault or BackendUnavailable("the connection was lost")
                    raise fault.copy()
                return await _send(self._connection, command, is_asking=is_asking)
        except BackendUnavailable as fault:
            if not self._decided.is_set():
                self._set_away(fault)
            raise
        finally:
            self._waiting -= 1

    async def _keep_connected(self) -> None:
        while True:
            try:
                address, connection = await self._attempt()
            except BackendError as fault:
                self._failed_attempts += 1
                self._set_away(fault)
            else:
                await self._use(address, connection)
            await asyncio.sleep(self._pause_seconds())

    async def _attempt(self) -> tuple[Address, Connection]:
        """Whatever goes wrong, another attempt will follow."""
        try:
            return await self._dial()
        except BackendError:
            raise
        except Exception as fault:
            kind = type(fault).__name__
            raise BackendUnavailable(f"connecting failed for a reason that nobody foresaw: {kind}") from fault

    async def _use(self, address: Address, connection: Connection) -> None:
        """Offer the connection to calls until it ends."""
        if self._fault is not None:
            log.info("redis is connected", extra={"fields": {"server": self._name, "address": str(address)}})
        self._host = address.host
        self._connection, self._fault = connection, None
        self._breaker.succeeded()
        self._decided.set()
        self._settles_at = asyncio.get_running_loop().time() + _SETTLED_SECONDS
        self._lost.clear()
        connection.when_ended(self._on_end)
        await self._lost.wait()

    def _on_end(self) -> None:
        self._failed_attempts = 0 if self._is_settled else self._failed_attempts + 1
        ended, self._connection = self._connection, None
        if ended is not None and (ended.is_overdue or self._failed_attempts):
            self._set_away(BackendUnavailable(ended.fault))
        else:
            self._decided.clear()
        self._lost.set()

    def _set_away(self, fault: BackendError) -> None:
        """From now on calls fail at once."""
        if self._fault is None or self._fault.args != fault.args:
            log.warning(
                "redis is not connected", extra={"fields": {"server": self._name, "reason": str(fault)}}
            )
        self._fault = fault
        self._decided.set()

    def _pause_seconds(self) -> float:
        """None after the loss of a good connection; then longer each time, and other for each replica."""
        if not self._failed_attempts:
            return 0.0
        longest: float = min(FIRST_PAUSE_SECONDS * 2 ** min(self._failed_attempts, 8), LONGEST_PAUSE_SECONDS)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


def _send(connection: Connection, command: Sequence[Argument], *, is_asking: bool) -> asyncio.Future[Reply]:
    return connection.send_asking(*command) if is_asking else connection.send(*command)
