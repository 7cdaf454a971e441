"""Which server a key belongs to."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol

from redis.crc import key_slot

from backends.breaker import Breaker
from backends.errors import BackendError, BackendUnavailable
from backends.redis.connection import DEADLINE_SECONDS, Argument, Connection, Reply, deadline
from backends.redis.discovery import SLOTS, Owners
from backends.redis.replies import Redirected
from backends.redis.server import Server
from backends.redis.url import Address

log = logging.getLogger("kvs.redis")

DialAddress = Callable[[Address], Coroutine[Any, Any, tuple[Address, Connection]]]
FindOwners = Callable[[Sequence[Address]], Coroutine[Any, Any, Owners]]

MAX_REDIRECTIONS = 5
REFRESH_PAUSE_SECONDS = 0.2


class Topology(Protocol):
    """The servers of a store."""

    def call(self, key: bytes, *command: Argument) -> Coroutine[Any, Any, Reply]:
        """The reply of the server that `key` belongs to. Raises BackendError."""
        ...

    @property
    def masters(self) -> Sequence[Server]:
        """All servers that hold keys, as far as is known."""
        ...

    async def ping(self) -> None:
        """Raises BackendError unless every server that is known answers."""
        ...

    async def close(self) -> None:
        """Give all connections back; may be repeated."""
        ...


class OneMaster:
    """All keys on one server: standalone, or whichever the sentinels name."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.masters: Sequence[Server] = (server,)

    def call(self, _key: bytes, *command: Argument) -> Coroutine[Any, Any, Reply]:
        return self._server.call(*command)

    async def ping(self) -> None:
        await self._server.call("PING")

    async def close(self) -> None:
        await self._server.close()


class ClusterOfMasters:
    """Keys spread over many servers by slot; learns from redirections and failures who serves what."""

    def __init__(
        self,
        seeds: Sequence[Address],
        dial: DialAddress,
        find_owners: FindOwners,
        new_breaker: Callable[[], Breaker],
    ) -> None:
        self._seeds = seeds
        self._dial = dial
        self._find_owners = find_owners
        self._new_breaker = new_breaker
        self._loop = asyncio.get_running_loop()
        self._servers: dict[Address, Server] = {}
        self._owners: list[Server | None] = [None] * SLOTS
        self._decided = asyncio.Event()
        self._is_stale = asyncio.Event()
        self._refresher = asyncio.create_task(self._keep_fresh())
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def masters(self) -> Sequence[Server]:
        return list(dict.fromkeys(server for server in self._owners if server is not None))

    async def call(self, key: bytes, *command: Argument) -> Reply:
        due = self._loop.time() + DEADLINE_SECONDS
        slot = key_slot(key)
        server = self._owners[slot]
        try:
            if server is not None:
                return await server.call(*command)
            async with deadline(due):
                return await (await self._first_owner(slot)).call(*command)
        except Redirected as redirection:
            async with deadline(due):
                return await self._follow(redirection, command)
        except BackendUnavailable:
            self._is_stale.set()
            raise

    async def ping(self) -> None:
        await self._decided.wait()
        if not self.masters:
            raise BackendUnavailable("no node of the cluster answers")
        try:
            await asyncio.gather(*(server.call("PING") for server in self.masters))
        except BackendError:
            self._is_stale.set()
            raise

    async def close(self) -> None:
        self._refresher.cancel()
        await asyncio.wait([self._refresher, *self._retiring])
        for server in self._servers.values():
            await server.close()

    async def _first_owner(self, slot: int) -> Server:
        """Who serves a slot of which nobody was known to."""
        await self._decided.wait()
        server = self._owners[slot]
        if server is None:
            raise BackendUnavailable("no node of the cluster is known to serve this slot")
        return server

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
            try:
                self._adopt(await self._find_owners([*self._servers, *self._seeds]))
                self._is_stale.clear()
            except BackendError as fault:
                log.warning("the cluster is not known", extra={"fields": {"reason": str(fault)}})
            self._decided.set()
            await asyncio.sleep(REFRESH_PAUSE_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load
            await self._is_stale.wait()

    def _adopt(self, owners: Owners) -> None:
        self._owners = [None if owner is None else self._server_at(owner) for owner in owners]
        for address in self._servers.keys() - set(owners):
            retiring = asyncio.create_task(_retire(self._servers.pop(address)))
            self._retiring.add(retiring)
            retiring.add_done_callback(self._retiring.discard)

    def _server_at(self, address: Address) -> Server:
        server = self._servers.get(address)
        if server is None:
            server = self._servers[address] = Server(partial(self._dial, address), self._new_breaker())
        return server


async def _retire(server: Server) -> None:
    """Close the connection to a node that serves nothing more, once its last calls have their answers."""
    await asyncio.sleep(DEADLINE_SECONDS)
    await server.close()
