"""The store that all replicas share, and the log of its writes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backends import MemorySettings
from backends.interface import Entry, Keyspace
from backends.memory.backend import MemoryBackend
from lab.simulation.records import StoreRecords


class SimulatedClock:
    """A machine's clocks: a wall clock with an error of `wrong_by_ms`, and one that counts from boot."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, started_at_ms: int, wrong_by_ms: int = 0, up_for_ms: int = 0
    ) -> None:
        self._loop, self._started_at_ms, self._up_for_ms = loop, started_at_ms, up_for_ms
        self.wrong_by_ms = wrong_by_ms

    def wall_ms(self) -> int:
        return self._started_at_ms + self.wrong_by_ms + int(self._loop.time() * 1000)

    def monotonic_ms(self) -> int:
        return self._up_for_ms + int(self._loop.time() * 1000)

    def boot_seconds(self) -> float:
        return self._loop.time()


@dataclass
class Window:
    """The store's window of one bucket, in milliseconds of its clock."""

    bucket: str
    opened_ms: int
    closes_ms: int
    admitted: int = 0
    filled_ms: int | None = None
    closes_early_by_ms: int = 0
    """The largest error of a replica's clock."""
    follows_after_ms: int | None = None
    """Time between the begin of the previous window and of this one."""


class Store:
    """The truth: an ordinary backend, and the log of its writes."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self.inner = MemoryBackend(MemorySettings(), clock)
        self.records = StoreRecords(self.inner.records, clock.monotonic_ms)
        self.is_up = True
        self.when_up: list[Callable[[], None]] = []
        self.stored: set[bytes] = set()
        """Notes every value that a put has stored."""
        self.windows: list[Window] = []
        self._open: dict[str, Window] = {}

    def note_up(self) -> None:
        """Ends an outage."""
        waiting, self.when_up = self.when_up, []
        for tell in waiting:
            tell()

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
