"""Tracing of calls: wraps the handler and the meter if tracing is configured.

Otherwise both are used unwrapped, so tracing costs nothing, not even a branch.
"""

from gateway.dataplane.handler import ROUTES
from gateway.dataplane.metering import MeteredCall, OpenMeter
from gateway.domain.answers import refuse
from gateway.domain.call import Call
from gateway.domain.errors import InternalError
from gateway.domain.model import Grant
from gateway.http.messages import Handler, Request, Response
from gateway.observability.tracing.opening import Traces


def trace_handler(inner: Handler, traces: Traces | None) -> Handler:
    """Wraps a handler so that sampled requests are traced."""
    if traces is None:
        return inner

    async def handle(request: Request) -> Response:
        if not traces.samples():
            return await inner(request)
        with traces.span(request.method, ROUTES.get(request.path), request.headers, request.id):
            try:
                response = await inner(request)
            except Exception:
                traces.answered(refuse(InternalError()))
                raise
            traces.answered(response.answer)
            return response

    return handle


def trace_meter(inner: OpenMeter, traces: Traces | None) -> OpenMeter:
    """Wraps a meter so that the span of a granted request names its tenant."""
    if traces is None:
        return inner

    def open_meter(grant: Grant, call: Call) -> MeteredCall:
        traces.granted(grant.labels)
        return inner(grant, call)

    return open_meter
