"""The store that all replicas share, and the log of its writes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from backends import MemorySettings
from backends.interface import Charge
from backends.memory.backend import MemoryBackend
from backends.tables import (
    AddToEntry,
    Charges,
    Done,
    EntryOperation,
    EntryResult,
    NoRoom,
    PutEntry,
    Step,
    Table,
    Written,
)
from lab.simulation.model import Model
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
    growth: list[tuple[int, int]] = field(default_factory=list)
    """The time of each charge, and the sum of charges after it."""
    closes_early_by_ms: int = 0
    """The largest error of a replica's clock."""
    follows_after_ms: int | None = None
    """Time between the begin of the previous window and of this one."""

    def admit(self, amount: int, now_ms: int) -> None:
        self.admitted += amount
        self.growth.append((now_ms, self.admitted))

    def full_ms(self, limit: int, amount: int) -> int | None:
        """Returns the time from which a charge of `amount` was too much; None if it never was."""
        return next((at_ms for at_ms, admitted in self.growth if admitted + amount > limit), None)


class Store:
    """The truth: an ordinary backend, and the log of its writes."""

    def __init__(self, clock: SimulatedClock, max_bytes: Mapping[str, int] | None = None) -> None:
        self.clock = clock
        self.inner = MemoryBackend(MemorySettings(), clock)
        self.records = StoreRecords(self.inner.records, clock.monotonic_ms)
        self.is_up = True
        self.when_up: list[Callable[[], None]] = []
        self.stored: set[bytes] = set()
        """Notes every value that a put has stored."""
        self.model = Model(max_bytes or {})
        self.refused: list[tuple[str, str, int]] = []
        """Home, key and time of each write for which there was no room."""
        self.faults: list[str] = []
        self.windows: list[Window] = []
        self._open: dict[str, Window] = {}

    def note_up(self) -> None:
        """Ends an outage."""
        waiting, self.when_up = self.when_up, []
        for tell in waiting:
            tell()

    async def step(
        self, charges: Charges, table: Table, operations: Sequence[EntryOperation], now_ms: int
    ) -> Step:
        step = await self.inner.charged.step(charges, table, operations, now_ms)
        if isinstance(step, Done):
            for budget, charge in zip(charges.budgets, step.charges, strict=True):
                self._note_charge(budget.bucket, budget.limit, charge, charges.amount)
            for operation, result in zip(operations, step.results, strict=True):
                self._compare(table, operation, result)
        return step

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        result = await self.inner.tables.execute(table, operation, now_ms)
        self._compare(table, operation, result)
        return result

    async def drop(self, tables: Sequence[Table]) -> None:
        await self.inner.tables.drop(tables)
        self.model.drop(tables)

    async def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Charge:
        charge = await self.inner.counters.charge(bucket, limit, window_ms, amount)
        self._note_charge(bucket, limit, charge, amount)
        return charge

    def _compare(self, table: Table, operation: EntryOperation, result: EntryResult) -> None:
        expected = self.model.execute(table, operation)
        if result != expected:
            self.faults.append(f"{operation}: {result}, by the model {expected}")
        if isinstance(operation, PutEntry) and isinstance(result, Written):
            self.stored.add(operation.entry.value)
        if isinstance(result, NoRoom) and isinstance(operation, PutEntry | AddToEntry):
            self.refused.append((table.home, operation.key, self.clock.monotonic_ms()))

    def _note_charge(self, bucket: str, limit: int, charge: Charge, amount: int) -> None:
        now_ms = self.clock.monotonic_ms()
        window = self._open.get(bucket)
        if window is None or now_ms >= window.closes_ms:
            window = self._open[bucket] = Window(bucket, now_ms, now_ms + charge.closes_in_ms)
            self.windows.append(window)
        if charge.admitted:
            window.admit(amount, now_ms)
