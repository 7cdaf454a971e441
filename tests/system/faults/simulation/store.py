"""One store that all replicas share, and the network between: slow, lossy, out of order, sometimes gone."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from backends.errors import BackendUnavailable
from backends.interface import Entry, Keyspace
from backends.memory.backend import MemoryBackend
from backends.settings import MemorySettings

DEADLINE_SECONDS = 0.25


class SimulatedClock:
    """A machine's clocks: right, but for what its wall clock is set wrong by."""

    def __init__(self, loop: asyncio.AbstractEventLoop, started_at_ms: int, wrong_by_ms: int = 0) -> None:
        self._loop, self._started_at_ms = loop, started_at_ms
        self.wrong_by_ms = wrong_by_ms

    def wall_ms(self) -> int:
        return self._started_at_ms + self.wrong_by_ms + self.monotonic_ms()

    def monotonic_ms(self) -> int:
        return int(self._loop.time() * 1000)


@dataclass
class Window:
    """What the store has counted of one bucket, in milliseconds of its clock."""

    bucket: str
    opened_ms: int
    closes_ms: int
    admitted: int = 0
    filled_ms: int | None = None


class Store:
    """The truth: an ordinary backend, and what was done to it."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self.inner = MemoryBackend(MemorySettings(), clock)
        self.is_up = True
        self.stored: set[bytes] = set()
        """Every value that a put has ever left here."""
        self.windows: list[Window] = []
        self._open: dict[str, Window] = {}

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        await self.inner.entries.put(keyspace, key, entry)
        self.stored.add(entry.value)

    async def charge(self, bucket: str, limit: int, window_ms: int) -> Any:
        now_ms = self.clock.monotonic_ms()
        charge = await self.inner.counters.charge(bucket, limit, window_ms)
        window = self._open.get(bucket)
        if window is None or now_ms >= window.closes_ms:
            window = self._open[bucket] = Window(bucket, now_ms, now_ms + charge.closes_in_ms)
            self.windows.append(window)
        window.admitted += charge.admitted
        if window.admitted == limit and window.filled_ms is None:
            window.filled_ms = now_ms
        return charge


class Network:
    """Between one replica and the store. `losses` is the share of calls that go astray, `lag` in seconds."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        self.store = store
        self.losses = 0.0
        self.lag = 0.001
        self.is_cut = False
        """Nothing passes from now on; what has left is on its way."""
        self._dice = dice
        self._applying: set[asyncio.Task[None]] = set()

    async def call(self, work: Callable[[], Awaitable[Any]], *, may_repeat: bool) -> Any:
        """As adapters do it: one deadline, and nothing is sent again but what may be applied twice."""
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._send(work, reply)
        if may_repeat and self._dice.random() < self.losses:
            self._send(work, reply)
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await reply
        except TimeoutError:
            raise BackendUnavailable("no answer in time") from None

    async def ping(self) -> None:
        """There and back; most of what passes is this, so that it is kept cheap."""
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
        if self._dice.random() < self.losses:
            return
        delay = self._dice.expovariate(1 / self.lag)
        asyncio.get_running_loop().call_later(delay, _settle, reply, result)


def _settle(reply: asyncio.Future[Any], result: Any) -> None:
    if not reply.done():
        reply.set_result(result)


class RemoteBackend:
    """A replica's view of the store."""

    name = "simulated"
    clock_lead_seconds = None
    warnings = {}  # noqa: RUF012 - none

    def __init__(self, network: Network) -> None:
        self._network = network
        self.entries = _Entries(network)
        self.counters = _Counters(network)
        self.records = _Records(network)

    async def ping(self) -> None:
        await self._network.ping()

    def apply(self, _: object) -> bool:
        return True

    async def close(self) -> None:
        """Nothing to give back."""


class _Entries:
    def __init__(self, network: Network) -> None:
        self._network, self._store = network, network.store
        self._entries = network.store.inner.entries

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        await self._network.call(lambda: self._store.put(keyspace, key, entry), may_repeat=False)

    async def get(self, keyspace: Keyspace, key: str) -> Entry | None:
        return await self._network.call(lambda: self._entries.get(keyspace, key), may_repeat=True)

    async def delete(self, keyspace: Keyspace, key: str) -> None:
        await self._network.call(lambda: self._entries.delete(keyspace, key), may_repeat=False)

    async def purge(self, keyspaces: Any, cursor: str | None) -> Any:
        return await self._network.call(lambda: self._entries.purge(keyspaces, cursor), may_repeat=True)


class _Counters:
    """A charge that arrives twice costs its tenant one call, and admits none too many."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def charge(self, bucket: str, limit: int, window_ms: int) -> Any:
        store = self._network.store
        return await self._network.call(lambda: store.charge(bucket, limit, window_ms), may_repeat=True)


class _Records:
    def __init__(self, network: Network) -> None:
        self._network, self._records = network, network.store.inner.records

    async def read(self, name: str) -> Any:
        return await self._network.call(lambda: self._records.read(name), may_repeat=True)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        return await self._network.call(
            lambda: self._records.swap(name, document, expected), may_repeat=False
        )

    async def page(self, prefix: str, *, after: str, limit: int) -> Any:
        return await self._network.call(
            lambda: self._records.page(prefix, after=after, limit=limit), may_repeat=True
        )
