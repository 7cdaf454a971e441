"""One decorator per port: a span for each call of a store that a traced request makes, and for no other."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context

from backends.errors import BackendError
from backends.interface import Charge, Entry, EntryStore, Keyspace, Record, RecordStore, WindowCounter
from gateway.observability.stores import Call
from gateway.observability.tracing.spans import current_span

_SYSTEMS = {"dynamodb": "aws.dynamodb"}
"""Names by the semantic conventions where they differ from ours."""

Result = TypeVar("Result")


class _Calls:
    """Spans of one operation of one store."""

    def __init__(self, tracer: Tracer, backend: str, operation: str) -> None:
        self._tracer = tracer
        self._name = f"{backend} {operation}"
        self._attributes = {
            "db.system.name": _SYSTEMS.get(backend, backend),
            "db.operation.name": operation,
        }

    def trace(self, call: Call[Result]) -> Call[Result]:
        request = current_span()
        return call if request is None else self._trace(call, request)

    async def _trace(self, call: Call[Result], request: Span) -> Result:
        span = self._tracer.start_span(
            self._name, set_span_in_context(request, Context()), SpanKind.CLIENT, self._attributes
        )
        try:
            return await call
        except (Exception, asyncio.CancelledError) as fault:
            span.set_attribute("error.type", type(fault).__name__)
            # what stores say of their own failures may be shown; other messages may quote a key or a value
            span.set_status(StatusCode.ERROR, str(fault) if isinstance(fault, BackendError) else None)
            raise
        finally:
            span.end()


class TracedEntryStore:
    """An `EntryStore` around another. No request of the data plane purges."""

    def __init__(self, inner: EntryStore, tracer: Tracer, backend: str) -> None:
        self._inner = inner
        self._put = _Calls(tracer, backend, "put")
        self._get = _Calls(tracer, backend, "get")
        self._delete = _Calls(tracer, backend, "delete")

    def put(self, keyspace: Keyspace, key: str, entry: Entry) -> Call[None]:
        return self._put.trace(self._inner.put(keyspace, key, entry))

    def get(self, keyspace: Keyspace, key: str) -> Call[Entry | None]:
        return self._get.trace(self._inner.get(keyspace, key))

    def delete(self, keyspace: Keyspace, key: str) -> Call[None]:
        return self._delete.trace(self._inner.delete(keyspace, key))

    def purge(self, keyspace: Keyspace) -> Call[None]:
        return self._inner.purge(keyspace)


class TracedWindowCounter:
    """A `WindowCounter` around another."""

    def __init__(self, inner: WindowCounter, tracer: Tracer, backend: str) -> None:
        self._inner = inner
        self._charge = _Calls(tracer, backend, "charge")

    def charge(self, bucket: str, limit: int, window_ms: int) -> Call[Charge]:
        return self._charge.trace(self._inner.charge(bucket, limit, window_ms))


class TracedRecordStore:
    """A `RecordStore` around another. No request of the data plane lists or swaps records."""

    def __init__(self, inner: RecordStore, tracer: Tracer, backend: str) -> None:
        self._inner = inner
        self._read = _Calls(tracer, backend, "read")

    def read(self, name: str) -> Call[Record | None]:
        return self._read.trace(self._inner.read(name))

    def swap(self, name: str, document: bytes | None, expected: str | None) -> Call[bool]:
        return self._inner.swap(name, document, expected)

    def list(self, prefix: str) -> AsyncIterator[tuple[str, Record]]:
        return self._inner.list(prefix)
