"""One decorator per port: observers wrap every store call.

`step` and the other methods return the coroutine of the outermost observer instead of awaiting it, so that an
observed call costs one additional coroutine, not two.
"""

import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial, reduce
from time import perf_counter
from typing import Any, Protocol, TypeVar

from backends.errors import BackendError
from backends.interface import (
    Changes,
    Charge,
    NamedRecord,
    Record,
    RecordStore,
    WindowCounter,
)
from backends.tables import (
    AddToEntry,
    ChargedStore,
    Charges,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    OldLayout,
    OldReplicas,
    PutEntry,
    Step,
    Table,
    TableCount,
    TableStore,
    TouchEntry,
    UpgradeStep,
    always,
)
from gateway.observability.logs import LogThrottle, describe_exception
from gateway.observability.metrics import ServiceMetrics

log = logging.getLogger("kvs.stores")

_SILENT_SECONDS = 10.0

Result = TypeVar("Result")
Call = Coroutine[Any, Any, Result]
"""Coroutine of a store call."""

Wrapper = Callable[[Call[Any]], Call[Any]]
"""Takes a call and returns the coroutine to await instead: the call itself, or one around it."""


class StoreObserver(Protocol):
    """Observes store calls and their outcomes."""

    def wrapper(self, backend: str, operation: str) -> Wrapper | None:
        """Returns the wrapper for one operation of one store; None to observe nothing."""
        ...


class StoreTimes:
    """Observer for the metrics: times each call, counts and logs each failure."""

    def __init__(self, metrics: ServiceMetrics) -> None:
        self._metrics = metrics

    def wrapper(self, backend: str, operation: str) -> Wrapper:
        return _Timer(self._metrics, backend, operation).time


class _Timer:
    def __init__(self, metrics: ServiceMetrics, backend: str, operation: str) -> None:
        self._what = {"backend": backend, "operation": operation}
        self._failure_lines = LogThrottle(1, _SILENT_SECONDS)
        self._ok = metrics.store_histogram(backend, operation, "ok")
        self._error = metrics.store_histogram(backend, operation, "error")

    def _log(self, error: BackendError) -> None:
        reason = str(error)
        if self._failure_lines.admits(reason):
            fields = {**self._what, "reason": reason, **describe_exception(error)}
            log.warning("a store call failed", extra={"fields": fields})

    async def time(self, call: Call[Result]) -> Result:
        started = perf_counter()
        try:
            result = await call
        except BackendError as error:
            self._error.observe(perf_counter() - started)
            self._log(error)
            raise
        self._ok.observe(perf_counter() - started)
        return result


class ObservedChargedStore:
    """A `ChargedStore` around another. A step is named by its operation, `batch` if there are several."""

    def __init__(self, inner: ChargedStore, backend: str, observers: Sequence[StoreObserver]) -> None:
        self._inner = inner
        self._by_kind = _by_kind(observers, backend)
        self._charge = _wrapper(observers, backend, "charge")
        self._batch = _wrapper(observers, backend, "batch")

    def step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> Call[Step]:
        step = self._inner.step(charges, table, operations, now_ms, may_begin=may_begin)
        if len(operations) == 1:
            return self._by_kind[type(operations[0])](step)
        return self._batch(step) if operations else self._charge(step)


class ObservedTableStore:
    """A `TableStore` around another."""

    def __init__(self, inner: TableStore, backend: str, observers: Sequence[StoreObserver]) -> None:
        self._inner = inner
        self._by_kind = _by_kind(observers, backend)
        self._count = _wrapper(observers, backend, "count")
        self._drop = _wrapper(observers, backend, "drop")
        self._tidy = _wrapper(observers, backend, "tidy")
        self._upgrade = _wrapper(observers, backend, "upgrade")

    def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> Call[EntryResult]:
        return self._by_kind[type(operation)](self._inner.execute(table, operation, now_ms))

    def count(self, table: Table, now_ms: int) -> Call[TableCount | OldLayout]:
        return self._count(self._inner.count(table, now_ms))

    def drop(self, tables: Sequence[Table]) -> Call[None]:
        return self._drop(self._inner.drop(tables))

    def tidy(self, tables: Sequence[Table], now_ms: int) -> Call[None]:
        return self._tidy(self._inner.tidy(tables, now_ms))

    def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> Call[UpgradeStep | OldReplicas]:
        return self._upgrade(self._inner.upgrade(table, cursor, now_ms))


class ObservedWindowCounter:
    """A `WindowCounter` around another."""

    def __init__(self, inner: WindowCounter, backend: str, observers: Sequence[StoreObserver]) -> None:
        self._inner = inner
        self._charge = _wrapper(observers, backend, "charge")
        self._refund = _wrapper(observers, backend, "refund")

    def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Call[Charge]:
        return self._charge(self._inner.charge(bucket, limit, window_ms, amount))

    def refund(self, bucket: str, charge: Charge, amount: int) -> Call[None]:
        return self._refund(self._inner.refund(bucket, charge, amount))


class ObservedRecordStore:
    """A `RecordStore` around another."""

    def __init__(self, inner: RecordStore, backend: str, observers: Sequence[StoreObserver]) -> None:
        self._inner = inner
        wrapper = partial(_wrapper, observers, backend)
        self._read = wrapper("read")
        self._swap = wrapper("swap")
        self._changes = wrapper("changes")
        self._page = wrapper("page")

    def read(self, name: str) -> Call[Record | None]:
        return self._read(self._inner.read(name))

    def swap(self, name: str, document: bytes | None, expected: str | None) -> Call[bool]:
        return self._swap(self._inner.swap(name, document, expected))

    def changes(self, position: str | None) -> Call[Changes]:
        return self._changes(self._inner.changes(position))

    def page(self, prefix: str, *, after: str, limit: int) -> Call[Sequence[NamedRecord]]:
        return self._page(self._inner.page(prefix, after=after, limit=limit))


_KINDS: dict[type[EntryOperation], str] = {
    PutEntry: "put",
    GetEntry: "get",
    DeleteEntry: "delete",
    ListEntries: "list",
    AddToEntry: "increment",
    TouchEntry: "touch",
}


def _by_kind(observers: Sequence[StoreObserver], backend: str) -> dict[type[EntryOperation], Wrapper]:
    return {kind: _wrapper(observers, backend, name) for kind, name in _KINDS.items()}


def _wrapper(observers: Sequence[StoreObserver], backend: str, operation: str) -> Wrapper:
    """Composes the wrappers of all observers, at least one. A single one is returned as it is."""
    each = [observer.wrapper(backend, operation) for observer in observers]
    return reduce(_nest, filter(None, each))


def _nest(inner: Wrapper, outer: Wrapper) -> Wrapper:
    return lambda call: outer(inner(call))
