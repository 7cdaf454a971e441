"""Opens tracing as configured. Without it, nothing of OpenTelemetry is imported (D50)."""

import logging
import os
from contextlib import AbstractContextManager
from typing import Protocol

from gateway.config.settings import TracingSettings
from gateway.domain.answers import Answer
from gateway.domain.call import Headers
from gateway.domain.model import Operation, TenantLabels
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import StoreObserver

log = logging.getLogger("kvs.tracing")

_DISABLED_VARIABLE = "OTEL_SDK_DISABLED"


class Traces(StoreObserver, Protocol):
    """Observes data plane requests and their store calls.

    `granted` and `answered` apply to the request of the running task, if it has a span.
    """

    def samples(self) -> bool:
        """Decides whether to trace a request; called once per request."""
        ...

    def span(
        self, method: str, operation: Operation | None, headers: Headers, request_id: str
    ) -> AbstractContextManager[object]:
        """Returns a request's span, to be entered while it is served. Unknown routes have no `operation`."""
        ...

    def granted(self, labels: TenantLabels) -> None:
        """Records the tenant of the request."""
        ...

    def answered(self, answer: Answer) -> None:
        """Records the answer to the request."""
        ...

    async def close(self) -> None:
        """Exports finished spans for a bounded time."""
        ...


def open_tracing(settings: TracingSettings | None, metrics: ServiceMetrics) -> Traces | None:
    """Opens tracing as configured. OpenTelemetry's own switch turns it off, and the log says so."""
    if settings is None:
        return None
    if os.environ.get(_DISABLED_VARIABLE, "").strip().lower() == "true":
        log.warning("OTEL_SDK_DISABLED is set: nothing is traced")
        return None
    from gateway.observability.tracing.spans import Spans  # noqa: PLC0415 - not there without the extra

    return Spans(settings, metrics)
