"""Traces or none, as configured. Without them, nothing of OpenTelemetry is imported (D50)."""

import logging
import os
from contextlib import AbstractContextManager
from typing import Protocol

from gateway.config.settings import TracingSettings
from gateway.domain.answers import Answer
from gateway.domain.headers import Headers
from gateway.domain.model import Operation, TenantLabels
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import StoreObserver

log = logging.getLogger("kvs.tracing")

_DISABLED_VARIABLE = "OTEL_SDK_DISABLED"


class Traces(StoreObserver, Protocol):
    """Observes requests of the data plane and their calls of stores.

    `granted` and `answered` are about the request that the running task serves, if that has a span.
    """

    def samples(self) -> bool:
        """Whether a request is traced; asked once for each."""
        ...

    def span(
        self, method: str, operation: Operation | None, headers: Headers, request_id: str
    ) -> AbstractContextManager[object]:
        """The span of a request, to be entered while it is served; `operation` is None for unknown routes."""
        ...

    def granted(self, labels: TenantLabels) -> None:
        """Note whose request it is."""
        ...

    def answered(self, answer: Answer) -> None:
        """Note how the request was answered."""
        ...

    async def close(self) -> None:
        """Deliver what is finished, for a bounded time."""
        ...


def open_tracing(settings: TracingSettings | None, metrics: ServiceMetrics) -> Traces | None:
    """Traces as configured. OpenTelemetry's own switch turns them off, and the log says so."""
    if settings is None:
        return None
    if os.environ.get(_DISABLED_VARIABLE, "").strip().lower() == "true":
        log.warning("OTEL_SDK_DISABLED is set: nothing is traced")
        return None
    from gateway.observability.tracing.spans import Spans  # noqa: PLC0415 - not there without the extra

    return Spans(settings, metrics)
