"""A span per request of the data plane: begun and ended around the handler, filled in on the way.

Our own share alone decides which requests are traced: a client names the trace that its request belongs
to, not whether it costs anything.
"""

from random import random

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from backends.interface import EntryStore, RecordStore, WindowCounter
from gateway.config.settings import TracingSettings
from gateway.dataplane.execution import OpenMeter, Reading
from gateway.dataplane.handler import ROUTES
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import InternalError
from gateway.domain.headers import Headers
from gateway.domain.model import Call, Grant
from gateway.http.messages import Handler, Request, Response
from gateway.observability.catalogue import SPANS_LOST
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.tracing.exporting import Export
from gateway.observability.tracing.spans import RequestSpan, current_span
from gateway.observability.tracing.stores import TracedEntryStore, TracedRecordStore, TracedWindowCounter

_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
_PROPAGATOR = TraceContextTextMapPropagator()


class Traced:
    """Traces of a share of all requests."""

    def __init__(self, settings: TracingSettings, metrics: ServiceMetrics) -> None:
        self._share = settings.share
        self._export = Export(settings)
        self._tracer = self._export.tracer
        metrics.watch(SPANS_LOST, lambda: self._export.lost)

    def handler(self, inner: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            if random() >= self._share:  # noqa: S311 - no secret
                return await inner(request)
            with RequestSpan(_begin(self._tracer, request)) as current:
                try:
                    response = await inner(request)
                except Exception:
                    _note_answer(current.span, refuse(InternalError()))
                    raise
                _note_answer(current.span, response.answer)
                return response

        return handle

    def meter(self, inner: OpenMeter) -> OpenMeter:
        return _TracedMeter(inner)

    def entries(self, inner: EntryStore, backend: str) -> EntryStore:
        return TracedEntryStore(inner, self._tracer, backend)

    def counters(self, inner: WindowCounter, backend: str) -> WindowCounter:
        return TracedWindowCounter(inner, self._tracer, backend)

    def records(self, inner: RecordStore, backend: str) -> RecordStore:
        return TracedRecordStore(inner, self._tracer, backend)

    async def close(self) -> None:
        await self._export.close()


class _TracedMeter:
    """Tells the span whose request it is, once that is granted."""

    def __init__(self, inner: OpenMeter) -> None:
        self._inner = inner

    def open(self, grant: Grant, call: Call) -> Reading:
        span = current_span()
        if span is not None:
            labels = grant.labels
            span.set_attributes(
                {
                    "kvs.org": labels.org,
                    "kvs.app": labels.app,
                    "kvs.env": labels.env,
                    "kvs.table": labels.table,
                }
            )
        return self._inner.open(grant, call)


def _begin(tracer: Tracer, request: Request) -> Span:
    """Of the target only a known route is told: anything may stand in another one."""
    method = request.method if request.method in _METHODS else "_OTHER"
    attributes = {"http.request.method": method, "kvs.request_id": request.id}
    name = "HTTP" if method == "_OTHER" else method
    operation = ROUTES.get(request.path)
    if operation is not None:
        attributes |= {"http.route": f"/v1/{operation}", "kvs.operation": operation.value}
        name += f" /v1/{operation}"
    return tracer.start_span(name, _parent(request.headers), SpanKind.SERVER, attributes)


def _parent(headers: Headers) -> Context:
    """The client's span, if it names one in due form. Its `tracestate` is not taken: it may hold anything."""
    named = headers.get(b"traceparent")
    if named is None:
        return Context()
    return _PROPAGATOR.extract({"traceparent": named.decode("latin-1")}, Context())


def _note_answer(span: Span, answer: Answer) -> None:
    span.set_attribute("http.response.status_code", answer.status)
    span.set_attribute("kvs.outcome", answer.usage.label)
    if answer.code is not None:
        span.set_attribute("kvs.code", answer.code)
        if answer.status >= 500:
            span.set_attribute("error.type", answer.code)
            span.set_status(StatusCode.ERROR)
