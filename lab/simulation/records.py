"""The records of the simulated store: who swapped what and when, and the feed of changes, which may be cut.

The feed is kept as that of Redis is: a position is the server and the announcement that was read last. Where
that one is gone, or another server answers, everything may have changed (D160, D190).
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from backends.interface import MAX_CHANGES, Changes, NamedRecord, Record
from backends.memory.backend import MemoryRecordStore

CAUSE: ContextVar[object | None] = ContextVar("CAUSE", default=None)
"""On whose behalf something is done; it travels along with calls of the store."""

_EMPTY = "0"


@dataclass(frozen=True)
class Swap:
    """One that was made, in seconds of the simulation; `document` None: the record is gone."""

    at: float
    name: str
    document: bytes | None
    cause: object | None


class StoreRecords:
    """A `RecordStore` that remembers all `swaps`."""

    def __init__(self, inner: MemoryRecordStore, now_ms: Callable[[], int]) -> None:
        self._inner, self._now_ms = inner, now_ms
        self._announced: list[str] = []
        self._announced_count = 0
        self._run = 1
        """The process that serves."""
        self.swaps: list[Swap] = []
        self.preloaded: dict[str, bytes] = {}

    def preload(self, documents: Sequence[tuple[str, bytes]]) -> None:
        """What is there from the beginning, in order."""
        self.preloaded = dict(documents)
        self._inner._names = [name for name, _ in documents]
        self._inner._records = {name: Record(document, "preloaded") for name, document in documents}

    async def read(self, name: str) -> Record | None:
        return await self._inner.read(name)

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        return await self._inner.page(prefix, after=after, limit=limit)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        is_first = await self.apply(name, document, expected)
        if is_first:
            self._announced_count += 1
            self._announced.append(f"{self._announced_count} {name}")
        return is_first

    async def apply(self, name: str, document: bytes | None, expected: str | None) -> bool:
        """A swap that is announced elsewhere."""
        is_first = await self._inner.swap(name, document, expected)
        if is_first:
            self._note(name, document, CAUSE.get())
        return is_first

    async def changes(self, position: str | None) -> Changes:
        run, _, last = (position or "").partition(" ")
        end = f"{self._run} {self._announced[-1] if self._announced else _EMPTY}"
        if last == _EMPTY:
            told = self._announced
            is_kept = not told or told[0].startswith("1 ")
        else:
            is_kept = last in self._announced
            told = self._announced[self._announced.index(last) + 1 :] if is_kept else []
        if not is_kept or run != str(self._run) or len(told) > MAX_CHANGES:
            return Changes((), end, is_complete=False)
        return Changes(tuple(each.partition(" ")[2] for each in told), end, is_complete=True)

    def fail_over(self) -> "StoreRecords":
        """From now on another server has the truth; the old one, which is returned, serves on."""
        inner = MemoryRecordStore()
        inner._names, inner._records = [*self._inner._names], dict(self._inner._records)
        old = StoreRecords(inner, self._now_ms)
        old.preloaded = {name: record.document for name, record in inner._records.items()}
        old._announced, old._announced_count, old._run = [*self._announced], self._announced_count, self._run
        self._run += 1
        return old

    def cut_feed(self, kept: int) -> None:
        """Forget all announcements but the last ones."""
        del self._announced[: max(len(self._announced) - kept, 0)]

    async def overwrite(self, name: str, document: bytes, cause: object) -> None:
        """Somebody else writes past the gateway, and announces nothing."""
        record = await self._inner.read(name)
        await self._inner.swap(name, document, None if record is None else record.version)
        self._note(name, document, cause)

    def _note(self, name: str, document: bytes | None, cause: object | None) -> None:
        self.swaps.append(Swap(self._now_ms() / 1000, name, document, cause))
