"""The map of a cluster: which master owns each slot."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NoReturn

from backends.background import Background, jittered
from backends.breaker import Breaker
from backends.errors import BackendError, BackendUnavailable, as_backend_error
from backends.redis.topology.discovery import CLUSTER_SLOTS, Connect, View, find_view, shares_of, view_of
from backends.redis.topology.server import Server
from backends.redis.wire.commands import SLOTS
from backends.redis.wire.connection import Connection
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.wire.url import Address

log = logging.getLogger("kvs.redis")

DialAddress = Callable[[Address], Coroutine[Any, Any, tuple[Address, Connection]]]

REFRESH_PAUSE_SECONDS = 0.2
WATCH_SECONDS = 0.7
"""Between two looks at the map: with the pause above and a deadline, less than the 2 s that are promised."""

MOST_ASKED = 5
"""Masters that are asked at a look, whatever the size of the cluster."""


class SlotMap:
    """A cache of the cluster's own map, and a `Server` for each node in it.

    It may be stale. Mostly that is harmless: a node that does not serve a key says so and does nothing. A
    call that notices corrects the slot (`assign`) or says that the map may be stale (`refresh`). But a master
    that was replaced while it was cut off does not know, and serves on; so the map is read again all the
    time, and what most of the masters say counts (D138). While none answers, it is read from any node that is
    known or was configured.
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
        self._adopted: View | None = None  # None: calls have corrected it since
        self._masters: list[Server] = []
        self._fault: BackendError | None = None
        self._decided = asyncio.Event()  # the map was read, or could not be
        self._is_closed = False
        self._retiring: set[asyncio.Task[None]] = set()
        self._refresher = Background(
            self._read,
            pause=lambda: WATCH_SECONDS,
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
        self._adopted = None
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
        asked = random.sample(self._masters, min(len(self._masters), MOST_ASKED))
        views = [view for view in await asyncio.gather(*map(_view, asked)) if view is not None]
        if not views:
            views = [await find_view([*self._servers, *self._seeds], self._connect)]
        if self._fault is not None:
            log.info("the cluster is known")
        self._fault = None
        if any(view != self._adopted for view in views):
            self._adopt(views)
        self._decided.set()

    def _on_failed_read(self, error: Exception) -> None:
        fault = as_backend_error(error)
        if self._fault is None or self._fault.args != fault.args:
            log.warning("the cluster is not known", extra={"fields": {"reason": str(fault)}})
        self._fault = fault
        self._decided.set()
        self.refresh()

    def _adopt(self, views: list[View]) -> None:
        """A slot that no view has a master for keeps its last one, who hears first who is next."""
        self._adopted = views[0] if all(view == views[0] for view in views) else None
        shares = shares_of(views)
        for share in shares:
            master = self.server_at(share.master)
            for slot in range(share.first, share.last + 1):
                if share.is_agreed or self._owners[slot] is None:
                    self._owners[slot] = master
        owners = [owner for share in shares for owner in self._owners[share.first : share.last + 1]]
        self._masters = [owner for owner in dict.fromkeys(owners) if owner is not None]
        in_use = set(self._owners)
        for address in [each for each, server in self._servers.items() if server not in in_use]:
            retiring = asyncio.create_task(_retire(self._servers.pop(address)))
            self._retiring.add(retiring)
            retiring.add_done_callback(self._retiring.discard)


async def _view(master: Server) -> View | None:
    """The cluster as a master sees it; None if it does not say."""
    try:
        return view_of(await master.call(CLUSTER_SLOTS), master.host)
    except BackendError:
        return None


async def _retire(server: Server) -> None:
    """Close the connection to a node that serves no slot any more, once its last calls are over."""
    await asyncio.sleep(DEADLINE_SECONDS)
    await server.close()
