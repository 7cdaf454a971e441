"""Traces of calls: wrappers of the handler and the meter, used where requests are traced.

Without traces both stay what they are, so that no request meets even a branch for them.
"""

from gateway.dataplane.execution import MeteredCall, OpenMeter
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
    """A meter that notes in the request's span whose request it is, once that is granted."""
    if traces is None:
        return inner

    def open_meter(grant: Grant, call: Call) -> MeteredCall:
        traces.granted(grant.labels)
        return inner(grant, call)

    return open_meter
