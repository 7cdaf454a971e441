"""The records of the simulated store: the log of swaps, and the feed of changes, which may be cut.

The feed works like that of Redis: a position is the server and the announcement read last. If that one is
gone, or another server answers, everything may have changed (D160).
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from backends.interface import MAX_CHANGES, Changes, NamedRecord, Record
from backends.memory.backend import MemoryRecordStore

CAUSE: ContextVar[object | None] = ContextVar("CAUSE", default=None)
"""The change that causes a call of the store."""

_EMPTY = "0"


@dataclass(frozen=True)
class Swap:
    """A swap that was applied, in seconds of the simulation; `document` None: the record was removed."""

    at: float
    name: str
    document: bytes | None
    cause: object | None


class StoreRecords:
    """A `RecordStore` that logs all `swaps`."""

    def __init__(self, inner: MemoryRecordStore, now_ms: Callable[[], int]) -> None:
        self._inner, self._now_ms = inner, now_ms
        self._announced: list[str] = []
        self._announced_count = 0
        self._run = 1
        """The server process."""
        self.swaps: list[Swap] = []
        self.preloaded: dict[str, bytes] = {}

    def preload(self, documents: Sequence[tuple[str, bytes]]) -> None:
        """Stores the initial documents, in order."""
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
        """Applies a swap that is announced by its caller."""
        is_first = await self._inner.swap(name, document, expected)
        if is_first:
            self._note(name, document, CAUSE.get())
        return is_first

    async def changes(self, position: str | None) -> Changes:
        run, _, last = (position or "").partition(" ")
        end = f"{self._run} {self._announced[-1] if self._announced else _EMPTY}"
        if last == _EMPTY:
            announced = self._announced
            is_kept = not announced or announced[0].startswith("1 ")
        else:
            is_kept = last in self._announced
            announced = self._announced[self._announced.index(last) + 1 :] if is_kept else []
        if not is_kept or run != str(self._run) or len(announced) > MAX_CHANGES:
            return Changes((), end, is_complete=False)
        return Changes(tuple(each.partition(" ")[2] for each in announced), end, is_complete=True)

    def fail_over(self) -> "StoreRecords":
        """Makes another server the master, and returns the old one, which still serves."""
        inner = MemoryRecordStore()
        inner._names, inner._records = [*self._inner._names], dict(self._inner._records)
        old = StoreRecords(inner, self._now_ms)
        old.preloaded = {name: record.document for name, record in inner._records.items()}
        old._announced, old._announced_count, old._run = [*self._announced], self._announced_count, self._run
        self._run += 1
        return old

    def cut_feed(self, kept: int) -> None:
        """Drops all announcements except the last ones."""
        del self._announced[: max(len(self._announced) - kept, 0)]

    async def overwrite(self, name: str, document: bytes, cause: object) -> None:
        """Writes past the gateway, without an announcement."""
        record = await self._inner.read(name)
        await self._inner.swap(name, document, None if record is None else record.version)
        self._note(name, document, cause)

    def _note(self, name: str, document: bytes | None, cause: object | None) -> None:
        self.swaps.append(Swap(self._now_ms() / 1000, name, document, cause))
