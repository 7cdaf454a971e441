"""The memory store: its settings, window counters, directory records, and the backend of all ports."""

import heapq
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import count, islice, takewhile
from typing import Annotated

from msgspec import Meta

from backends.backend import AdapterSettings, StoreWarning
from backends.clock import Clock
from backends.interface import MAX_CHANGES, Changes, Charge, NamedRecord, Record
from backends.memory.tables import MemoryTables
from backends.tables import Budget, Charges, Refused


class MemorySettings(AdapterSettings, frozen=True, kw_only=True, tag="memory"):
    """Settings of `kind: memory`, which serves one replica."""

    max_bytes: Annotated[int, Meta(ge=1, le=2**50)] = 268_435_456


class MemoryBackend:
    """All three ports in plain dictionaries; each call is one step of the event loop, hence atomic."""

    name = "memory"
    clock_lead_seconds = None
    warnings: Mapping[StoreWarning, bool] = {}

    def __init__(self, settings: MemorySettings, clock: Clock) -> None:
        self._settings = settings
        self.counters = MemoryWindowCounter(now_ms=clock.monotonic_ms)
        self.records = MemoryRecordStore()
        self.tables = MemoryTables(self.counters.charge_all, max_bytes=settings.max_bytes)
        self.charged = self.tables

    async def ping(self) -> None:
        """Always succeeds."""

    def apply(self, settings: AdapterSettings) -> bool:
        """Accepts only the same settings, because there are no credentials."""
        return settings == self._settings

    async def close(self) -> None:
        """Closes nothing."""


class _Window:
    __slots__ = ("charges", "closes_at_ms")

    def __init__(self, closes_at_ms: int) -> None:
        self.charges = 0
        self.closes_at_ms = closes_at_ms


class MemoryWindowCounter:
    """A `WindowCounter` for one replica, on the monotonic clock. Opening a window removes closed ones."""

    def __init__(self, *, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._windows: dict[str, _Window] = {}
        self._closing: list[tuple[int, str]] = []

    async def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Charge:
        charged = self.charge_all(Charges((Budget(bucket, limit),), window_ms, amount))
        return charged.charge if isinstance(charged, Refused) else charged[0]

    async def refund(self, bucket: str, charge: Charge, amount: int) -> None:
        window = self._windows.get(bucket)
        if window is not None and window.closes_at_ms - self._now_ms() <= charge.closes_in_ms:
            window.charges = max(window.charges - amount, 0)

    def charge_all(self, charges: Charges) -> Refused | tuple[Charge, ...]:
        """Charges every budget, or none."""
        now_ms, amount = self._now_ms(), charges.amount
        windows = []
        for budget in charges.budgets:
            window = self._windows.get(budget.bucket)
            if window is None or window.closes_at_ms <= now_ms:
                window = self._open(budget.bucket, now_ms, charges.window_ms)
            remaining = budget.limit - window.charges
            if remaining < amount:
                closes_in_ms = window.closes_at_ms - now_ms
                return Refused(budget, Charge(False, closes_in_ms, max(remaining, 0)))  # noqa: FBT003
            windows.append(window)
        admitted = []
        for budget, window in zip(charges.budgets, windows):  # noqa: B905 - as many, by construction
            window.charges += amount
            admitted.append(Charge(True, window.closes_at_ms - now_ms, budget.limit - window.charges))  # noqa: FBT003
        return tuple(admitted)

    def _open(self, bucket: str, now_ms: int, window_ms: int) -> _Window:
        while self._closing and self._closing[0][0] <= now_ms:
            self._windows.pop(heapq.heappop(self._closing)[1], None)
        window = self._windows[bucket] = _Window(now_ms + window_ms)
        heapq.heappush(self._closing, (window.closes_at_ms, bucket))
        return window


class MemoryRecordStore:
    """A `RecordStore`. Versions are never used twice, so a re-created record has another version."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._names: list[str] = []
        """The names of all records, in order."""
        self._versions = count(1)
        self._announced: deque[str] = deque(maxlen=MAX_CHANGES)
        self._announced_count = 0

    async def read(self, name: str) -> Record | None:
        return self._records.get(name)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        current = self._records.get(name)
        if (None if current is None else current.version) != expected:
            return False
        if document is None:
            if self._records.pop(name, None) is not None:
                del self._names[bisect_left(self._names, name)]
        else:
            if current is None:
                insort(self._names, name)
            self._records[name] = Record(document, str(next(self._versions)))
        self._announced.append(name)
        self._announced_count += 1
        return True

    async def changes(self, position: str | None) -> Changes:
        here = str(self._announced_count)
        missed = 0 if position is None else self._announced_count - int(position)
        if position is None or missed > MAX_CHANGES:
            return Changes((), here, is_complete=False)
        names = islice(self._announced, len(self._announced) - missed, None)
        return Changes(tuple(names), here, is_complete=True)

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        start = bisect_right(self._names, after) if after else bisect_left(self._names, prefix)
        names = takewhile(lambda name: name.startswith(prefix), self._names[start : start + limit])
        return [(name, self._records[name]) for name in names]
