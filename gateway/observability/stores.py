"""The one decorator per port: every call of a store is timed, and every failure counted as one."""

import logging
from collections.abc import AsyncIterator, Coroutine
from time import perf_counter
from typing import Any, TypeVar

from backends.errors import BackendError
from backends.interface import Charge, Entry, EntryStore, Keyspace, Record, RecordStore, WindowCounter
from gateway.observability.logs import describe_fault
from gateway.observability.metrics import ServiceMetrics

log = logging.getLogger("kvs.stores")

_SILENT_SECONDS = 10.0

Result = TypeVar("Result")
Call = Coroutine[Any, Any, Result]
"""What calling an `async def` gives; the decorators hand it on, so that they add one coroutine, not two."""


class _Timer:
    def __init__(self, metrics: ServiceMetrics, backend: str, operation: str) -> None:
        self._what = {"backend": backend, "operation": operation}
        self._silent_until: dict[str, float] = {}
        self._ok = metrics.store_histogram(backend, operation, "ok")
        self._error = metrics.store_histogram(backend, operation, "error")

    def _complain(self, error: BackendError) -> None:
        """Say so in the log, but each reason not once per request."""
        now, reason = perf_counter(), str(error)
        if now >= self._silent_until.get(reason, 0.0):
            self._silent_until[reason] = now + _SILENT_SECONDS
            fields = {**self._what, "reason": reason, **describe_fault(error)}
            log.warning("a store call failed", extra={"fields": fields})

    async def time(self, call: Call[Result]) -> Result:
        started = perf_counter()
        try:
            result = await call
        except BackendError as error:
            self._error.observe(perf_counter() - started)
            self._complain(error)
            raise
        self._ok.observe(perf_counter() - started)
        return result


class MeteredEntryStore:
    """An `EntryStore` around another."""

    def __init__(self, inner: EntryStore, metrics: ServiceMetrics, backend: str) -> None:
        self._inner = inner
        self._put = _Timer(metrics, backend, "put")
        self._get = _Timer(metrics, backend, "get")
        self._delete = _Timer(metrics, backend, "delete")
        self._purge = _Timer(metrics, backend, "purge")

    def put(self, keyspace: Keyspace, key: str, entry: Entry) -> Call[None]:
        return self._put.time(self._inner.put(keyspace, key, entry))

    def get(self, keyspace: Keyspace, key: str) -> Call[Entry | None]:
        return self._get.time(self._inner.get(keyspace, key))

    def delete(self, keyspace: Keyspace, key: str) -> Call[None]:
        return self._delete.time(self._inner.delete(keyspace, key))

    def purge(self, keyspace: Keyspace) -> Call[None]:
        return self._purge.time(self._inner.purge(keyspace))


class MeteredWindowCounter:
    """A `WindowCounter` around another."""

    def __init__(self, inner: WindowCounter, metrics: ServiceMetrics, backend: str) -> None:
        self._inner = inner
        self._charge = _Timer(metrics, backend, "charge")

    def charge(self, bucket: str, limit: int, window_ms: int) -> Call[Charge]:
        return self._charge.time(self._inner.charge(bucket, limit, window_ms))


class MeteredRecordStore:
    """A `RecordStore` around another. A list is timed from its first record to its last."""

    def __init__(self, inner: RecordStore, metrics: ServiceMetrics, backend: str) -> None:
        self._inner = inner
        self._read = _Timer(metrics, backend, "read")
        self._swap = _Timer(metrics, backend, "swap")
        self._list = _Timer(metrics, backend, "list")

    def read(self, name: str) -> Call[Record | None]:
        return self._read.time(self._inner.read(name))

    def swap(self, name: str, document: bytes | None, expected: str | None) -> Call[bool]:
        return self._swap.time(self._inner.swap(name, document, expected))

    async def list(self, prefix: str) -> AsyncIterator[tuple[str, Record]]:
        for record in await self._list.time(_collect(self._inner.list(prefix))):
            yield record


async def _collect(records: AsyncIterator[tuple[str, Record]]) -> list[tuple[str, Record]]:
    return [record async for record in records]
