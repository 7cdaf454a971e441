"""The network between one replica and the store: slow, lossy, out of order, sometimes cut."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from backends.errors import BackendUnavailable
from lab.simulation.contact import Contact
from lab.simulation.store import Store

DEADLINE_SECONDS = 0.25
USUAL_LAG_SECONDS = 0.001


class Network:
    """The network of one replica. `losses` is the share of lost calls, `lag` is in seconds."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        self.store = store
        self.records = store.records
        """Records of the server that the replica takes for the master."""
        self.losses = 0.0
        self.reply_losses = 0.0
        """Share of lost replies."""
        self.lag = USUAL_LAG_SECONDS
        self.is_cut = False
        """Cuts the network; messages on their way still arrive."""
        self.contact = Contact(asyncio.get_running_loop().time)
        self._dice = dice
        self._applying: set[asyncio.Task[None]] = set()

    async def call(
        self, work: Callable[[], Awaitable[Any]], *, may_repeat: bool, operation: str = "other"
    ) -> Any:
        """Calls the store like the adapters: one deadline, and only idempotent calls are repeated."""
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._send(work, reply)
        if may_repeat and self._dice.random() < self.losses:
            self._send(work, reply)
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await reply
        except TimeoutError:
            self.contact.failed(operation)
            raise BackendUnavailable("no answer in time") from None

    @contextmanager
    def trouble(self) -> Iterator[None]:
        """Marks the time of a trouble."""
        self.contact.lose()
        yield
        self.contact.regain()

    async def ping(self) -> None:
        """Makes one round trip; the most frequent call, so it is kept cheap."""
        await asyncio.sleep(self.lag)
        if self.is_cut or not self.store.is_up or self._dice.random() < self.losses:
            raise BackendUnavailable("no answer in time")

    def _send(self, work: Callable[[], Awaitable[Any]], reply: asyncio.Future[Any]) -> None:
        if self.is_cut or self._dice.random() < self.losses:
            return
        delay = self._dice.expovariate(1 / self.lag)
        if self._dice.random() < self.losses:
            delay += self._dice.uniform(0, 3)  # it comes when nobody waits for it any more
        asyncio.get_running_loop().call_later(delay, self._arrive, work, reply)

    def _arrive(self, work: Callable[[], Awaitable[Any]], reply: asyncio.Future[Any]) -> None:
        if not self.store.is_up:
            return
        applying = asyncio.ensure_future(self._apply(work, reply))
        self._applying.add(applying)
        applying.add_done_callback(self._applying.discard)

    async def _apply(self, work: Callable[[], Awaitable[Any]], reply: asyncio.Future[Any]) -> None:
        result = await work()
        if self._dice.random() < max(self.losses, self.reply_losses):
            return
        delay = self._dice.expovariate(1 / self.lag)
        asyncio.get_running_loop().call_later(delay, _settle, reply, result)


def _settle(reply: asyncio.Future[Any], result: Any) -> None:
    if not reply.done():
        reply.set_result(result)
