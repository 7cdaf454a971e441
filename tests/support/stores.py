"""Stores that fail or wait on command: ordinary backends around a real one, so no test pins driver calls."""

import asyncio
from collections.abc import Callable, Sequence

from backends.backend import Backend
from backends.errors import BackendError, BackendUnavailable, ChargeFailed
from backends.interface import Changes, Charge, NamedRecord, Record
from backends.tables import (
    AddToEntry,
    Charges,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    OldLayout,
    OldReplicas,
    PutEntry,
    Refused,
    Step,
    Table,
    TableCount,
    TouchEntry,
    UpgradeStep,
    always,
)


class Faults:
    """Current faults: operations in `fail` ("*": all) raise; while `gate` is not set, calls wait.

    Calls about a subject in `refuse` also raise; the next swap of a record in `lose` is done and raises.
    """

    def __init__(self) -> None:
        self.fail: set[str] = set()
        self.refuse: set[str] = set()
        self.lose: set[str] = set()
        self.error: type[BackendError] = BackendUnavailable
        self.reason = "injected"
        self.gate = asyncio.Event()
        self.gate.set()
        self.calls: list[tuple[str, str]] = []

    async def pass_through(self, operation: str, subject: str) -> None:
        self.calls.append((operation, subject))
        await self.gate.wait()
        if operation in self.fail or "*" in self.fail or subject in self.refuse:
            raise self.error(self.reason)

    def count(self, operation: str) -> int:
        return sum(1 for called, _ in self.calls if called == operation)


class _Counters:
    def __init__(self, inner: Backend, faults: Faults) -> None:
        self._inner, self._faults = inner.counters, faults

    async def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Charge:
        await self._faults.pass_through("charge", bucket)
        return await self._inner.charge(bucket, limit, window_ms, amount)

    async def refund(self, bucket: str, charge: Charge, amount: int) -> None:
        await self._faults.pass_through("refund", bucket)
        await self._inner.refund(bucket, charge, amount)


class _Tables:
    def __init__(self, inner: Backend, faults: Faults) -> None:
        self._inner, self._faults = inner.tables, faults

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        await self._faults.pass_through(*_named(operation))
        return await self._inner.execute(table, operation, now_ms)

    async def count(self, table: Table, now_ms: int) -> TableCount | OldLayout:
        await self._faults.pass_through("count", table.keyspace)
        return await self._inner.count(table, now_ms)

    async def drop(self, tables: Sequence[Table]) -> None:
        await self._faults.pass_through("drop", " ".join(table.keyspace for table in tables))
        await self._inner.drop(tables)

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        await self._faults.pass_through("tidy", " ".join(table.keyspace for table in tables))
        await self._inner.tidy(tables, now_ms)

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep | OldReplicas:
        await self._faults.pass_through("upgrade", table.keyspace)
        return await self._inner.upgrade(table, cursor, now_ms)


class _Charged:
    """A step passes as `charge`, then as each of its operations. One that fails was charged nevertheless."""

    def __init__(self, inner: Backend, faults: Faults) -> None:
        self._inner, self._faults = inner.charged, faults

    async def step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> Step:
        try:
            await self._faults.pass_through("charge", charges.budgets[-1].bucket)
        except BackendError as error:
            raise ChargeFailed(str(error)) from error
        try:
            for operation in operations:
                await self._faults.pass_through(*_named(operation))
        except BackendError:
            charged = await self._inner.step(charges, table, (), now_ms)
            if isinstance(charged, Refused):
                return charged
            raise
        return await self._inner.step(charges, table, operations, now_ms, may_begin=may_begin)


_NAMES = {
    PutEntry: "put",
    GetEntry: "get",
    DeleteEntry: "delete",
    ListEntries: "list",
    AddToEntry: "increment",
    TouchEntry: "touch",
}


def _named(operation: EntryOperation) -> tuple[str, str]:
    """Returns the name of an operation, and its key."""
    return _NAMES[type(operation)], operation.prefix if isinstance(operation, ListEntries) else operation.key


class _Records:
    def __init__(self, inner: Backend, faults: Faults) -> None:
        self._inner, self._faults = inner.records, faults

    async def read(self, name: str) -> Record | None:
        await self._faults.pass_through("read", name)
        return await self._inner.read(name)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        await self._faults.pass_through("swap", name)
        is_swapped = await self._inner.swap(name, document, expected)
        if name in self._faults.lose:
            self._faults.lose.discard(name)
            raise BackendUnavailable("the reply was lost")
        return is_swapped

    async def changes(self, position: str | None) -> Changes:
        await self._faults.pass_through("changes", position or "")
        return await self._inner.changes(position)

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        await self._faults.pass_through("page", prefix)
        return await self._inner.page(prefix, after=after, limit=limit)


class FaultyBackend:
    """A backend around another, under the command of `faults`."""

    def __init__(self, inner: Backend, faults: Faults) -> None:
        self.name = inner.name
        self.counters = _Counters(inner, faults)
        self.records = _Records(inner, faults)
        self.tables = _Tables(inner, faults)
        self.charged = _Charged(inner, faults)
        self._inner, self._faults = inner, faults

    async def ping(self) -> None:
        await self._faults.pass_through("ping", "")
        await self._inner.ping()

    @property
    def clock_lead_seconds(self):
        return self._inner.clock_lead_seconds

    @property
    def warnings(self):
        return self._inner.warnings

    def apply(self, settings) -> bool:
        return self._inner.apply(settings)

    async def close(self) -> None:
        await self._inner.close()


async def first_answer(store: Backend) -> None:
    """Returns when a store that was just opened answers."""
    for _ in range(500):
        try:
            return await store.ping()
        except BackendError as error:
            fault = error
            await asyncio.sleep(0.02)
    raise AssertionError(f"the store does not answer: {fault}")
