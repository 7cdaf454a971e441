"""A region for directory tests: replicas over one record store, slow or failing on command."""

import asyncio
import random
from collections.abc import Callable, Sequence
from enum import Enum

from backends import MemorySettings
from backends.errors import BackendUnavailable
from backends.interface import Changes, NamedRecord, Record
from backends.memory.backend import MemoryBackend
from backends.paging import all_records
from backends.tables import Table
from gateway.directory.declared import DeclaredApps
from gateway.directory.parts import Defaults, directory_parts
from gateway.directory.records import AppRecord
from gateway.directory.resolve.bindings import CachedBindings
from gateway.domain.model import Environment
from tests.support import entries
from tests.support.clock import FakeClock
from tests.support.stores import Faults, FaultyBackend

SHOP = Environment("acme", "shop", "production")
CACHE_TTL_MS = 10_000
STALE_TTL_MS = 600_000
LAST_WRITE_MS = CACHE_TTL_MS + STALE_TTL_MS + 30_000
"""Time after which no replica writes under a cached binding any more."""


class Crash(BaseException):
    """The process crashes at this point."""


class Fate(Enum):
    """Outcome of a swap and of its reply."""

    DONE = "is done"
    REQUEST_LOST = "never arrives"
    REPLY_LOST = "is done and not answered"
    LATE = "arrives after the next read"


class Records:
    """A record store that lets other tasks run before and after every step."""

    def __init__(self, inner, seed: int | None, steps_to_crash: int | None) -> None:
        self._inner = inner
        self._random = None if seed is None else random.Random(seed)
        self.read_done = asyncio.Event()
        self.release_reads = asyncio.Event()
        self.release_reads.set()
        self.is_cut_off = False
        self.next_fate: Callable[[str], Fate] = lambda _: Fate.DONE
        self._late: list[tuple[str, bytes | None, str | None]] = []
        self._steps_to_crash = steps_to_crash

    async def _let_others_run(self) -> None:
        for _ in range(0 if self._random is None else self._random.randrange(5)):
            await asyncio.sleep(0)

    def _step(self) -> None:
        if self.is_cut_off:
            raise BackendUnavailable("cut off")
        if self._steps_to_crash is not None:
            if self._steps_to_crash == 0:
                raise Crash
            self._steps_to_crash -= 1

    async def read(self, name: str) -> Record | None:
        self._step()
        await self._let_others_run()
        record = await self._inner.read(name)
        await self._land()
        self.read_done.set()
        await self.release_reads.wait()
        await self._let_others_run()
        return record

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        self._step()
        await self._let_others_run()
        fate = self.next_fate(name)
        if fate is Fate.LATE:
            self._late.append((name, document, expected))
        if fate in (Fate.LATE, Fate.REQUEST_LOST):
            raise BackendUnavailable("the request was lost")
        done = await self._inner.swap(name, document, expected)
        await self._land()
        if fate is Fate.REPLY_LOST:
            raise BackendUnavailable("the reply was lost")
        await self._let_others_run()
        return done

    async def _land(self) -> None:
        """Applies delayed swaps."""
        while self._late:
            await self._inner.swap(*self._late.pop())

    async def changes(self, position: str | None) -> Changes:
        self._step()
        await self._let_others_run()
        changes = await self._inner.changes(position)
        await self._let_others_run()
        return changes

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        self._step()
        return await self._inner.page(prefix, after=after, limit=limit)


class Replica:
    """The directory of one gateway process."""

    def __init__(
        self,
        region: "Region",
        *,
        seed: int | None = None,
        cache_ttl_ms: int = CACHE_TTL_MS,
        stale_ttl_ms: int = STALE_TTL_MS,
        bindings: CachedBindings | None = None,
        clock: FakeClock | None = None,
        steps_to_crash: int | None = None,
        declared: Sequence[AppRecord] = (),
        default_max_bytes: int | None = None,
    ) -> None:
        self.records = Records(region.backend.records, seed, steps_to_crash)
        parts = directory_parts(
            DeclaredApps(declared, 600, default_max_bytes),
            self.records,
            region.backend.tables,
            clock or region.clock,
            defaults=Defaults(requests_per_minute=600, max_tables=3, max_bytes=default_max_bytes),
            fresh_ms=cache_ttl_ms,
            stale_ms=stale_ttl_ms,
        )
        self.bindings, self.directory = parts.bindings, parts.directory
        self.corrupt, self.reclaimer, self.sweeper = parts.corrupt, parts.reclaimer, parts.sweeper
        self.pages = parts.pages
        self.feed = parts.feed
        self._retention = parts.retention
        if bindings is not None:
            self.bindings = self.directory._bindings = bindings

    async def knows(self, token: str) -> bool:
        return await self.bindings.resolve(token.encode()) is not None

    async def table(self, token: str) -> Table:
        return (await self.bindings.resolve(token.encode())).table

    async def register_retention(self) -> "Replica":
        """Registers its retention, so that later lookups cost no extra read."""
        await self._retention.register()
        return self

    async def apps(self) -> list[AppRecord]:
        """Returns all apps of the organization."""
        return list((await self.pages.apps("acme", "", 1000, lambda _: True)).found)

    async def register(self, environment: Environment = SHOP, app_type: str = "api", **settings) -> None:
        await self.directory.register(AppRecord(environment, app_type, active=False, **settings))

    async def create(self, name: str = "sessions", environment: Environment = SHOP) -> str:
        return (await self.directory.create_table(environment, name, None))[1]

    async def rotate(self, overlap_seconds: int = 0, name: str = "sessions") -> str:
        return (await self.directory.rotate_table(SHOP, name, overlap_seconds))[1]


class Region:
    """One store, one clock, any number of replicas."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.faults = Faults()
        self.memory = MemoryBackend(MemorySettings(), self.clock)
        self.backend = FaultyBackend(self.memory, self.faults)

    @property
    def used_bytes(self) -> int:
        """Memory that all entries take."""
        return self.memory.tables.used_bytes

    async def put(self, table: Table, key: str = "k", *, expires_at_ms: int | None = None) -> None:
        """Stores an entry."""
        entry = entries.Entry(b"1", expires_at_ms)
        await entries.put(self.memory, table, key, entry, now_ms=self.clock.wall_ms())

    async def has(self, table: Table, key: str = "k") -> bool:
        """Returns whether there is such an entry."""
        return await entries.get(self.memory, table, key, now_ms=self.clock.wall_ms()) is not None

    def replica(self, **options) -> Replica:
        return Replica(self, **options)

    async def record_names(self, prefix: str = "") -> list[str]:
        return [name async for name, _ in all_records(self.memory.records, prefix)]
