"""The map of a cluster: which master owns each slot."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NoReturn

from backends.background import Background, jittered
from backends.breaker import Breaker
from backends.errors import BackendError, BackendUnavailable, as_backend_error
from backends.redis.commands import SLOTS
from backends.redis.connection import Connection
from backends.redis.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.discovery import Connect, Owners, find_owners
from backends.redis.server import Server
from backends.redis.url import Address

log = logging.getLogger("kvs.redis")

DialAddress = Callable[[Address], Coroutine[Any, Any, tuple[Address, Connection]]]

REFRESH_PAUSE_SECONDS = 0.2


class SlotMap:
    """A cache of the cluster's own map, and a `Server` for each node in it.

    Nothing keeps it from being stale. That is harmless: a node that does not serve a key says so and does
    nothing. A call that notices corrects the slot (`assign`) or says that the map may be stale (`refresh`);
    it is then read anew, from any node that is known or was configured.
    """

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
        self._servers: dict[Address, Server] = {}
        self._owners: list[Server | None] = [None] * SLOTS
        self._masters: list[Server] = []
        self._fault: BackendError | None = None
        self._decided = asyncio.Event()  # the map was read, or could not be
        self._is_closed = False
        self._retiring: set[asyncio.Task[None]] = set()
        self._refresher = Background(
            self._read,
            pause=lambda: None,
            on_error=self._on_failed_read,
            cooldown=lambda: jittered(REFRESH_PAUSE_SECONDS),
        )

    def owner(self, slot: int) -> Server | None:
        """The master of a slot, as far as is known."""
        return self._owners[slot]

    async def first_owner(self, slot: int, due: float) -> Server:
        """The master of a slot that had none, once the first attempt to read the map is over."""
        async with deadline(due):
            await self._decided.wait()
        return self._owners[slot] or self._raise_unknown()

    async def masters(self, due: float) -> Sequence[Server]:
        """All masters that own slots. Raises BackendError while none is known."""
        async with deadline(due):
            await self._decided.wait()
        return self._masters or self._raise_unknown()

    def assign(self, slot: int, address: Address) -> Server:
        """A node has said who owns the slot now."""
        self._owners[slot] = server = self.server_at(address)
        self.refresh()
        return server

    def refresh(self) -> None:
        """Something points to a change: read the map, soon."""
        self._refresher.wake()

    def server_at(self, address: Address) -> Server:
        """The node at an address, whether it owns slots or not."""
        server = self._servers.get(address)
        if server is None:
            if self._is_closed:
                raise BackendUnavailable("the store was closed")
            server = Server(str(address), partial(self._dial, address), self._new_breaker())
            self._servers[address] = server
        return server

    async def close(self) -> None:
        """Give all connections back; may be repeated."""
        self._is_closed = True
        await self._refresher.close()
        if self._retiring:
            await asyncio.wait(self._retiring)
        for server in list(self._servers.values()):
            await server.close()

    def _raise_unknown(self) -> NoReturn:
        self.refresh()
        fault = self._fault or BackendUnavailable("no node of the cluster is known to serve this slot")
        raise fault.copy()

    async def _read(self) -> None:
        owners = await find_owners([*self._servers, *self._seeds], self._connect)
        if self._fault is not None:
            log.info("the cluster is known")
        self._fault = None
        self._adopt(owners)
        self._decided.set()

    def _on_failed_read(self, error: Exception) -> None:
        fault = as_backend_error(error)
        if self._fault is None or self._fault.args != fault.args:
            log.warning("the cluster is not known", extra={"fields": {"reason": str(fault)}})
        self._fault = fault
        self._decided.set()
        self.refresh()

    def _adopt(self, owners: Owners) -> None:
        self._masters = [self.server_at(owner) for owner in dict.fromkeys(owners) if owner is not None]
        self._owners = [
            previous if owner is None else self.server_at(owner)
            for owner, previous in zip(owners, self._owners, strict=True)
        ]  # of a slot that has no owner now, the last one hears first who is next
        in_use = set(self._owners)
        for address in [each for each, server in self._servers.items() if server not in in_use]:
            retiring = asyncio.create_task(_retire(self._servers.pop(address)))
            self._retiring.add(retiring)
            retiring.add_done_callback(self._retiring.discard)


async def _retire(server: Server) -> None:
    """Close the connection to a node that serves no slot any more, once its last calls are over."""
    await asyncio.sleep(DEADLINE_SECONDS)
    await server.close()
