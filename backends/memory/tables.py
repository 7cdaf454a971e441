"""Tables in memory: an operation is one turn of the event loop, hence atomic."""

from asyncio import sleep
from collections.abc import Callable, Sequence

from backends.effects import effect_of, holds, is_live
from backends.errors import NotBegun, StoreFull
from backends.interface import Charge
from backends.memory.held import HeldTable
from backends.memory.holdings import REMOVED_AT_ONCE, Holdings
from backends.tables import (
    ANY,
    FAILED,
    AddToEntry,
    Charges,
    DeleteEntry,
    Done,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    Page,
    PutEntry,
    Refused,
    Step,
    Table,
    TableCount,
    TouchEntry,
    Unmet,
    UpgradeStep,
    Written,
    always,
)

ChargeAll = Callable[[Charges], Refused | tuple[Charge, ...]]
"""Charges all budgets, or none."""

_NO_ENTRY = NoEntry()
_NO_ROOM = NoRoom()


class MemoryTables:
    """A `ChargedStore` and `TableStore` that holds at most `max_bytes`, by its own estimate per entry."""

    def __init__(self, charge_all: ChargeAll, *, max_bytes: int) -> None:
        self._charge_all = charge_all
        self._held = Holdings(max_bytes=max_bytes)

    @property
    def used_bytes(self) -> int:
        """The estimate of the memory in use."""
        return self._held.used_bytes

    async def step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> Step:
        charged = self._charge_all(charges)
        if isinstance(charged, Refused):
            return charged
        results: list[EntryResult] = []
        for operation in operations:
            try:
                result = self._execute(table, operation, now_ms)
                if result is _NO_ROOM:
                    result = await self._execute_again(table, operation, now_ms, may_begin)
            except (NotBegun, StoreFull):
                if not results:
                    raise
                result = FAILED
            results.append(result)
        return Done(charged, tuple(results))

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        result = self._execute(table, operation, now_ms)
        return await self._execute_again(table, operation, now_ms, always) if result is _NO_ROOM else result

    async def count(self, table: Table, now_ms: int) -> TableCount:
        await self._held.collect_all(now_ms)
        held = self._held.tables.get(table.keyspace)
        if held is None:
            return TableCount(0, 0, now_ms, is_exact=True)
        return TableCount(len(held.by_key), held.bytes, now_ms, is_exact=True)

    async def drop(self, tables: Sequence[Table]) -> None:
        for table in tables:
            while (held := self._held.tables.get(table.keyspace)) is not None:
                for _ in range(min(REMOVED_AT_ONCE, len(held.by_key))):
                    self._held.remove(held, held.last_key())
                await sleep(0)

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:  # noqa: ARG002 - all have one order
        await self._held.collect_all(now_ms)

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep:  # noqa: ARG002
        return UpgradeStep(None)

    # ---- Operations

    async def _execute_again(
        self, table: Table, operation: EntryOperation, now_ms: int, may_begin: Callable[[], bool]
    ) -> EntryResult:
        """Executes an operation for which there was no room, once expired entries no longer take any."""
        if not await self._held.collect_all(now_ms):
            return _NO_ROOM
        if not may_begin():
            raise NotBegun("the attempt ended while room was made")
        return self._execute(table, operation, now_ms)

    def _execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        held = self._held.tables.get(table.keyspace)
        match operation:
            case GetEntry(key):
                entry = None if held is None else held.by_key.get(key)
                return entry if entry is not None and is_live(entry, now_ms) else _NO_ENTRY
            case PutEntry():
                return self._put(table, held, operation, now_ms)
            case ListEntries():
                return Page((), None) if held is None else held.page(operation, now_ms)
        return self._change(table, held, operation, now_ms)

    def _put(self, table: Table, held: HeldTable | None, put: PutEntry, now_ms: int) -> EntryResult:
        """Puts as `effect_of` says, without the objects that it takes to say so."""
        if put.condition is not ANY:
            entry = None if held is None else held.by_key.get(put.key)
            live = entry if is_live(entry, now_ms) else None
            if not holds(put.condition, live):
                return Unmet(live.revision if live else None)
        if self._held.store(table, put.key, put.entry, now_ms):
            return Written(put.entry.revision)
        return _NO_ROOM

    def _change(
        self,
        table: Table,
        held: HeldTable | None,
        operation: DeleteEntry | TouchEntry | AddToEntry,
        now_ms: int,
    ) -> EntryResult:
        stored = None if held is None else held.by_key.get(operation.key)
        live = stored if is_live(stored, now_ms) else None
        effect = effect_of(operation, live)
        if effect.entry is live:
            return effect.result
        if effect.entry is None:
            self._held.remove(self._held.tables[table.keyspace], operation.key)
        elif not self._held.store(table, operation.key, effect.entry, now_ms):
            return _NO_ROOM
        return effect.result
