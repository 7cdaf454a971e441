"""Traces or none, as configured. Where they are off, nothing of OpenTelemetry is imported."""

import logging
import os
from typing import Protocol

from backends.interface import EntryStore, RecordStore, WindowCounter
from gateway.config.settings import TracingSettings
from gateway.dataplane.execution import OpenMeter
from gateway.http.messages import Handler
from gateway.observability.metrics import ServiceMetrics

log = logging.getLogger("kvs.tracing")

_DISABLED_VARIABLE = "OTEL_SDK_DISABLED"


class Tracing(Protocol):
    """What stands around the parts of a gateway, so that they know nothing of traces."""

    def handler(self, inner: Handler) -> Handler:
        """Around the data listener's handler."""
        ...

    def meter(self, inner: OpenMeter) -> OpenMeter:
        """Around what is told of every granted call."""
        ...

    def entries(self, inner: EntryStore, backend: str) -> EntryStore:
        """Around the entries."""
        ...

    def counters(self, inner: WindowCounter, backend: str) -> WindowCounter:
        """Around the counters."""
        ...

    def records(self, inner: RecordStore, backend: str) -> RecordStore:
        """Around the directory's records."""
        ...

    async def close(self) -> None:
        """Deliver what is finished, for a bounded time."""
        ...


class Untraced:
    """No traces: every part stays what it is."""

    def handler(self, inner: Handler) -> Handler:
        return inner

    def meter(self, inner: OpenMeter) -> OpenMeter:
        return inner

    def entries(self, inner: EntryStore, backend: str) -> EntryStore:  # noqa: ARG002
        return inner

    def counters(self, inner: WindowCounter, backend: str) -> WindowCounter:  # noqa: ARG002
        return inner

    def records(self, inner: RecordStore, backend: str) -> RecordStore:  # noqa: ARG002
        return inner

    async def close(self) -> None:
        """There is nothing to deliver."""


def open_tracing(settings: TracingSettings | None, metrics: ServiceMetrics) -> Tracing:
    """Traces as configured. OpenTelemetry's own switch is heeded, and said to be."""
    if settings is None:
        return Untraced()
    if os.environ.get(_DISABLED_VARIABLE, "").strip().lower() == "true":
        log.warning("OTEL_SDK_DISABLED is set: nothing is traced")
        return Untraced()
    from gateway.observability.tracing.requests import Traced  # noqa: PLC0415 - not there without the extra

    return Traced(settings, metrics)
