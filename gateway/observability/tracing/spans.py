"""The span of the request that is being served, for the calls of stores it makes and the lines it logs."""

from contextvars import ContextVar
from typing import Self

from opentelemetry.trace import Span, format_span_id, format_trace_id

from gateway.observability.logs import trace_ids

_current: ContextVar["RequestSpan | None"] = ContextVar("request_span", default=None)


class RequestSpan:
    """A recorded span and the context it is current in: the connection's task, for one request."""

    __slots__ = ("_ids_before", "_span_before", "span")

    def __init__(self, span: Span) -> None:
        self.span = span

    def __enter__(self) -> Self:
        self._span_before = _current.set(self)
        self._ids_before = trace_ids.set(self.ids)
        return self

    def __exit__(self, *_: object) -> None:
        self.span.end()
        trace_ids.reset(self._ids_before)
        _current.reset(self._span_before)

    def ids(self) -> dict[str, str]:
        """Log fields that lead to the trace. Tasks may outlive the request that started them: none then."""
        if not self.span.is_recording():
            return {}
        context = self.span.get_span_context()
        return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}


def current_span() -> Span | None:
    """The request's span, while it is served; None outside of traced requests."""
    current = _current.get()
    return current.span if current is not None and current.span.is_recording() else None
