"""The slot map of a cluster: which master owns each slot."""

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
"""Pause between two reads of the map. Both pauses and a deadline together stay below the promised 2 s."""

MOST_ASKED = 5
"""The number of masters polled per read, however large the cluster is."""


class SlotMap:
    """A cache of the cluster's slot map, with a `Server` for each node in it.

    The cache may be stale. Mostly that is harmless: a node that does not own a slot says so and does nothing,
    and the call then corrects the slot (`assign`) or requests another read (`refresh`). Harm comes from a
    master that was replaced while it was cut off: it does not know, and keeps serving. So the map is read
    periodically from several masters, and the majority decides (D137). While no master answers, the map is
    read from any node that is known or configured.
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
        self._adopted: View | None = None  # the view that `_owners` equals; None after a correction
        self._masters: list[Server] = []
        self._fault: BackendError | None = None
        self._decided = asyncio.Event()  # set once the first read has succeeded or failed
        self._is_closed = False
        self._retiring: set[asyncio.Task[None]] = set()
        self._refresher = Background(
            self._read,
            pause=lambda: WATCH_SECONDS,
            on_error=self._on_failed_read,
            cooldown=lambda: jittered(REFRESH_PAUSE_SECONDS),
        )

    def owner(self, slot: int) -> Server | None:
        """Returns the last known master of a slot."""
        return self._owners[slot]

    async def first_owner(self, slot: int, due: float) -> Server:
        """Returns the master of a slot that had none, after the first read of the map."""
        async with deadline(due):
            await self._decided.wait()
        return self._owners[slot] or self._raise_unknown()

    async def masters(self, due: float) -> Sequence[Server]:
        """Returns all masters that own slots. Raises BackendError while none is known."""
        async with deadline(due):
            await self._decided.wait()
        return self._masters or self._raise_unknown()

    def assign(self, slot: int, address: Address) -> Server:
        """Records the new owner of a slot, which a MOVED reply has named."""
        self._owners[slot] = server = self.server_at(address)
        self._adopted = None
        self.refresh()
        return server

    def refresh(self) -> None:
        """Requests a read of the map, because something points to a change; requests are merged."""
        self._refresher.wake()

    def server_at(self, address: Address) -> Server:
        """Returns the node at an address, whether it owns slots or not."""
        server = self._servers.get(address)
        if server is None:
            if self._is_closed:
                raise BackendUnavailable("the store was closed")
            server = Server(str(address), partial(self._dial, address), self._new_breaker())
            self._servers[address] = server
        return server

    async def close(self) -> None:
        """Closes all connections; may be repeated."""
        self._is_closed = True
        await self._refresher.close()
        if self._retiring:
            await asyncio.wait(self._retiring)
        for server in list(self._servers.values()):
            await server.close()

    def _raise_unknown(self) -> NoReturn:
        self.refresh()
        fault = self._fault or BackendUnavailable("no known node of the cluster serves this slot")
        raise fault.before_anything()

    async def _read(self) -> None:
        polled = random.sample(self._masters, min(len(self._masters), MOST_ASKED))
        views = [view for view in await asyncio.gather(*map(_view, polled)) if view is not None]
        if not views:
            views = [await find_view([*self._servers, *self._seeds], self._connect)]
        if self._fault is not None:
            log.info("read the slot map of the cluster again")
        self._fault = None
        if any(view != self._adopted for view in views):  # adopting touches all 16,384 slots
            self._adopt(views)
        self._decided.set()

    def _on_failed_read(self, error: Exception) -> None:
        fault = as_backend_error(error)
        if self._fault is None or self._fault.args != fault.args:
            log.warning("cannot read the slot map of the cluster", extra={"fields": {"reason": str(fault)}})
        self._fault = fault
        self._decided.set()
        self.refresh()

    def _adopt(self, views: list[View]) -> None:
        """Assigns each slot to the master that more than half of the views name.

        Without a majority, as happens briefly while slots move, a slot keeps its owner, and redirections
        correct it. A slot without a master in any view keeps its last known owner, which is the first to
        learn of the new one.
        """
        self._adopted = views[0] if all(view == views[0] for view in views) else None
        shares = shares_of(views)
        for share in shares:
            master = self.server_at(share.master)
            for slot in range(share.first, share.last + 1):
                if share.is_agreed or self._owners[slot] is None:
                    self._owners[slot] = master
        owners = [owner for share in shares for owner in self._owners[share.first : share.last + 1]]
        self._masters = [owner for owner in dict.fromkeys(owners) if owner is not None]
        in_use = set(self._owners)  # also the last known owners of slots without a master
        for address in [each for each, server in self._servers.items() if server not in in_use]:
            retiring = asyncio.create_task(_retire(self._servers.pop(address)))
            self._retiring.add(retiring)
            retiring.add_done_callback(self._retiring.discard)


async def _view(master: Server) -> View | None:
    """Returns the slot map as a master sees it; None if it does not answer."""
    try:
        return view_of(await master.call(CLUSTER_SLOTS), master.host)
    except BackendError:
        return None


async def _retire(server: Server) -> None:
    """Closes the connection to a node without slots, after the deadline of its last calls."""
    await asyncio.sleep(DEADLINE_SECONDS)
    await server.close()
