"""Traces of calls: what stands around the handler and the meter where requests are traced.

Without traces both stay what they are, so that no request meets even a branch for them.
"""

from gateway.dataplane.execution import OpenMeter, Reading
from gateway.dataplane.handler import ROUTES
from gateway.domain.answers import refuse
from gateway.domain.errors import InternalError
from gateway.domain.model import Call, Grant
from gateway.http.messages import Handler, Request, Response
from gateway.observability.tracing.opening import Traces


def trace_handler(inner: Handler, traces: Traces | None) -> Handler:
    """A handler whose requests may be traced."""
    if traces is None:
        return inner

    async def handle(request: Request) -> Response:
        span = traces.begin(request.method, ROUTES.get(request.path), request.headers, request.id)
        if span is None:
            return await inner(request)
        with span:
            try:
                response = await inner(request)
            except Exception:
                traces.answered(refuse(InternalError()))
                raise
            traces.answered(response.answer)
            return response

    return handle


def trace_meter(inner: OpenMeter, traces: Traces | None) -> OpenMeter:
    """A meter that tells the request's span whose request it is, once that is granted."""
    return inner if traces is None else _TracedMeter(inner, traces)


class _TracedMeter:
    def __init__(self, inner: OpenMeter, traces: Traces) -> None:
        self._inner = inner
        self._traces = traces

    def open(self, grant: Grant, call: Call) -> Reading:
        self._traces.granted(grant.labels)
        return self._inner.open(grant, call)
