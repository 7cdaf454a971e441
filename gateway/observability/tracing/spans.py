"""One span per data plane request, current while it is served, and a child span per store call.

The configured share alone decides which requests are traced: a client chooses the trace of its request, not
whether the request is traced (D50). A span records the route only if it is known, and an exception's type
only: anything else may hold a key, a value or a secret.
"""

import asyncio
from contextlib import AbstractContextManager
from random import random

from opentelemetry.context import Context
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    format_span_id,
    format_trace_id,
    get_current_span,
    use_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from backends.errors import BackendError
from gateway.config.settings import TracingSettings
from gateway.domain.answers import Answer
from gateway.domain.call import Headers
from gateway.domain.model import Operation, TenantLabels
from gateway.observability import logs
from gateway.observability.catalogue import SPANS_LOST
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import Call, Result, Wrapper
from gateway.observability.tracing.exporting import Export

_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
_CALLS_OF_REQUESTS = frozenset(
    {"put", "get", "delete", "list", "increment", "touch", "batch", "charge", "refund", "read"}
)
"""Store operations of data plane requests; all others belong to the control plane and background work."""

_SYSTEMS = {"dynamodb": "aws.dynamodb"}
"""Names of the semantic conventions that differ from ours."""

_PROPAGATOR = TraceContextTextMapPropagator()


class Spans:
    """Traces a share of all requests."""

    def __init__(self, settings: TracingSettings, metrics: ServiceMetrics) -> None:
        self._share = settings.share
        self._export = Export(settings)
        self._tracer = self._export.tracer
        metrics.watch(SPANS_LOST, lambda: self._export.lost)
        logs.context_fields.add(_ids_of_current_span)

    def samples(self) -> bool:
        return random() < self._share  # noqa: S311 - no secret

    def span(
        self, method: str, operation: Operation | None, headers: Headers, request_id: str
    ) -> AbstractContextManager[object]:
        known_method = method if method in _METHODS else "_OTHER"
        attributes = {"http.request.method": known_method, "kvs.request_id": request_id}
        name = method if method in _METHODS else "HTTP"
        if operation is not None:
            attributes |= {"http.route": f"/v1/{operation}", "kvs.operation": operation.value}
            name += f" /v1/{operation}"
        span = self._tracer.start_span(name, _parent(headers), SpanKind.SERVER, attributes)
        return use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False)

    def granted(self, labels: TenantLabels) -> None:
        get_current_span().set_attributes(
            {
                "kvs.org": labels.org,
                "kvs.app": labels.app,
                "kvs.env": labels.env,
                "kvs.table": labels.table,
            }
        )

    def answered(self, answer: Answer) -> None:
        span = get_current_span()
        span.set_attribute("http.response.status_code", answer.status)
        span.set_attribute("kvs.outcome", answer.usage.label)
        if answer.code is not None:
            span.set_attribute("kvs.code", answer.code)
            if answer.status >= 500:
                span.set_attribute("error.type", answer.code)
                span.set_status(StatusCode.ERROR)

    def wrapper(self, backend: str, operation: str) -> Wrapper | None:
        if operation not in _CALLS_OF_REQUESTS:
            return None
        name = f"{backend} {operation}"
        attributes = {
            "db.system.name": _SYSTEMS.get(backend, backend),
            "db.operation.name": operation,
        }

        def observe(call: Call[Result]) -> Call[Result]:
            # tasks may outlive the request that started them: a span that has ended records nothing
            if not get_current_span().is_recording():
                return call
            return _within(self._tracer.start_span(name, None, SpanKind.CLIENT, attributes), call)

        return observe

    async def close(self) -> None:
        await self._export.close()


async def _within(span: Span, call: Call[Result]) -> Result:
    """Awaits a store call and ends its span with it."""
    try:
        return await call
    except (Exception, asyncio.CancelledError) as error:
        span.set_attribute("error.type", type(error).__name__)
        # what stores say of their own failures may be shown; other messages may quote a key or a value
        span.set_status(StatusCode.ERROR, str(error) if isinstance(error, BackendError) else None)
        raise
    finally:
        span.end()


def _parent(headers: Headers) -> Context:
    """Returns the context of a well-formed `traceparent`. `tracestate` is ignored: it may hold anything."""
    named = headers.get(b"traceparent")
    if named is None:
        return Context()
    return _PROPAGATOR.extract({"traceparent": named.decode("latin-1")}, Context())


def _ids_of_current_span() -> dict[str, str]:
    """Returns the log fields that identify the trace of the current request."""
    span = get_current_span()
    if not span.is_recording():
        return {}
    context = span.get_span_context()
    return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}
