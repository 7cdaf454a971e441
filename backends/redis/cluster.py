"""A cluster: each key belongs to a slot, and each slot to one of many masters."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NoReturn

from backends.breaker import Breaker
from backends.errors import BackendError, BackendUnavailable
from backends.redis.connection import DEADLINE_SECONDS, Argument, Connection, Reply, deadline
from backends.redis.discovery import Connect, Owners, find_owners, slot_of
from backends.redis.replies import SLOTS, NotServed, Redirected
from backends.redis.server import Server
from backends.redis.url import Address

log = logging.getLogger("kvs.redis")

DialAddress = Callable[[Address], Coroutine[Any, Any, tuple[Address, Connection]]]

MAX_REDIRECTIONS = 5
REFRESH_PAUSE_SECONDS = 0.2
GAP_SECONDS = 0.25
"""How long a slot may be without a master before calls for it fail at once."""

_GAP_PAUSE_SECONDS = 0.01
_GAP_IS_OVER_SECONDS = 1.0
"""A refusal that comes so long after the last one is the first of another gap."""


class ClusterOfMasters:
    """Keys spread over many servers by slot; learns from redirections and failures who serves what."""

    def __init__(
        self,
        seeds: Sequence[Address],
        connect: Connect,
        dial: DialAddress,
        new_breaker: Callable[[], Breaker],
    ) -> None:
        self._seeds = seeds
        self._connect = connect
        self._dial = dial
        self._new_breaker = new_breaker
        self._loop = asyncio.get_running_loop()
        self._servers: dict[Address, Server] = {}
        self._owners: list[Server | None] = [None] * SLOTS
        self._masters: list[Server] = []
        self._fault: BackendError | None = None
        self._decided = asyncio.Event()
        self._is_stale = asyncio.Event()
        self._is_closed = False
        self._gap_began = self._last_gap = -_GAP_IS_OVER_SECONDS
        self._refresher = asyncio.create_task(self._keep_fresh())
        self._retiring: set[asyncio.Task[None]] = set()

    async def masters(self) -> Sequence[Server]:
        async with deadline(self._loop.time() + DEADLINE_SECONDS):
            await self._decided.wait()
        return self._masters or self._raise_unknown()

    async def call(self, key: bytes, *command: Argument) -> Reply:
        due = self._loop.time() + DEADLINE_SECONDS
        slot = slot_of(key)
        try:
            return await self._ask(slot, command, due)
        except NotServed as refusal:
            self._is_stale.set()
            return await self._insist(slot, command, due, refusal)
        except BackendUnavailable:
            self._is_stale.set()
            raise

    async def ping(self) -> None:
        masters = await self.masters()
        try:
            await asyncio.gather(*(master.call("PING") for master in masters))
        except BackendError:
            self._is_stale.set()
            raise

    async def close(self) -> None:
        self._is_closed = True
        self._refresher.cancel()
        await asyncio.wait([self._refresher, *self._retiring])
        for server in list(self._servers.values()):
            await server.close()

    async def _ask(self, slot: int, command: Sequence[Argument], due: float) -> Reply:
        server = self._owners[slot]
        try:
            if server is not None:
                return await server.call(*command)
            async with deadline(due):
                return await (await self._first_owner(slot)).call(*command)
        except Redirected as redirection:
            async with deadline(due):
                return await self._follow(redirection, command)

    async def _insist(self, slot: int, command: Sequence[Argument], due: float, refusal: NotServed) -> Reply:
        """Ask again, since nothing was done, while this may be the moment between two masters of the slot.

        A node that hears of the old master's new role before it hears of the new master knows of none.
        """
        ends = min(due, self._end_of_gap())
        while self._loop.time() + _GAP_PAUSE_SECONDS < ends:
            await asyncio.sleep(_GAP_PAUSE_SECONDS)
            try:
                async with deadline(due):
                    return await self._ask(slot, command, due)
            except NotServed as again:
                refusal = again
        self._last_gap = self._loop.time()
        raise refusal

    def _end_of_gap(self) -> float:
        """When calls that are refused now are to give up."""
        now = self._loop.time()
        if now - self._last_gap >= _GAP_IS_OVER_SECONDS:
            self._gap_began = now
        self._last_gap = now
        return self._gap_began + GAP_SECONDS

    async def _first_owner(self, slot: int) -> Server:
        """Who serves a slot of which nobody was known to."""
        await self._decided.wait()
        return self._owners[slot] or self._raise_unknown()

    def _raise_unknown(self) -> NoReturn:
        self._is_stale.set()
        fault = self._fault or BackendUnavailable("no node of the cluster is known to serve this slot")
        raise fault.copy()

    async def _follow(self, redirection: Redirected, command: Sequence[Argument]) -> Reply:
        """Send a command, which was not run, to the node that was named."""
        for _ in range(MAX_REDIRECTIONS):
            server = self._server_at(redirection.address)
            if not redirection.is_asking:
                self._owners[redirection.slot] = server
                self._is_stale.set()
            try:
                return await server.call(*command, is_asking=redirection.is_asking)
            except Redirected as another:
                redirection = another
        raise BackendUnavailable("redirected again and again")

    async def _keep_fresh(self) -> None:
        """Ask who serves what: at first, and whenever something points to a change."""
        while True:
            self._is_stale.clear()
            try:
                self._adopt(await find_owners([*self._servers, *self._seeds], self._connect))
            except BackendError as fault:
                self._set_unknown(fault)
            self._decided.set()
            await asyncio.sleep(REFRESH_PAUSE_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load
            await self._is_stale.wait()

    def _set_unknown(self, fault: BackendError) -> None:
        if self._fault is None or self._fault.args != fault.args:
            log.warning("the cluster is not known", extra={"fields": {"reason": str(fault)}})
        self._fault = fault
        self._is_stale.set()

    def _adopt(self, owners: Owners) -> None:
        if self._fault is not None:
            log.info("the cluster is known")
        self._fault = None
        self._masters = [self._server_at(owner) for owner in dict.fromkeys(owners) if owner is not None]
        self._owners = [
            previous if owner is None else self._server_at(owner)
            for owner, previous in zip(owners, self._owners, strict=True)
        ]  # who served a slot that nobody serves for the moment knows first who will
        in_use = set(self._owners)
        for address in [each for each, server in self._servers.items() if server not in in_use]:
            retiring = asyncio.create_task(_retire(self._servers.pop(address)))
            self._retiring.add(retiring)
            retiring.add_done_callback(self._retiring.discard)

    def _server_at(self, address: Address) -> Server:
        server = self._servers.get(address)
        if server is None:
            if self._is_closed:
                raise BackendUnavailable("the store was closed")
            server = Server(str(address), partial(self._dial, address), self._new_breaker())
            self._servers[address] = server
        return server


async def _retire(server: Server) -> None:
    """Close the connection to a node that serves nothing more, once its last calls have their answers."""
    await asyncio.sleep(DEADLINE_SECONDS)
    await server.close()
