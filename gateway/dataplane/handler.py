"""Handler of the data listener: stages 1 and 2 of the contract, the pipeline, then metrics and access log."""

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter

from gateway.config.settings import EdgeSettings
from gateway.dataplane.access_log import AccessLog
from gateway.dataplane.diagnostics import explain_path
from gateway.dataplane.pipeline import Pipeline
from gateway.domain.answers import refuse
from gateway.domain.call import Call
from gateway.domain.errors import (
    InternalError,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    Refusal,
    ShuttingDown,
)
from gateway.domain.model import Caller, Operation, TenantLabels
from gateway.http.body import BodySlots, read_body
from gateway.http.messages import Request, Response
from gateway.observability.catalogue import REQUESTS_IN_FLIGHT
from gateway.observability.logs import report_exception
from gateway.observability.metrics import OTHER_OPERATION, ServiceMetrics

log = logging.getLogger("kvs.access")

_FULL = "this replica serves its maximum of concurrent requests; repeat the request"

ROUTES = {f"/v1/{operation}".encode(): operation for operation in Operation}


class CallsInFlight(set[asyncio.Task[None]]):
    """The tasks that serve a call now."""

    _on_idle: Callable[[], None] | None = None

    def watch(self, on_idle: Callable[[], None]) -> None:
        """Calls `on_idle` from now on whenever the last call in flight has ended."""
        self._on_idle = on_idle

    def discard(self, task: object) -> None:
        set.discard(self, task)
        if self._on_idle is not None and not self:
            self._on_idle()


class DataHandler:
    """Serves calls. `bodies` are slots for arriving bodies."""

    def __init__(
        self,
        *,
        pipeline: Pipeline,
        in_flight: CallsInFlight,
        metrics: ServiceMetrics,
        settings: EdgeSettings,
        body_bytes: int,
        access_log: AccessLog,
    ) -> None:
        self._pipeline = pipeline
        self._metrics = metrics
        self._settings = settings
        self._body_bytes = body_bytes
        self._max_in_flight = settings.max_in_flight
        self._access_log = access_log
        self._in_flight = in_flight
        self._reading = 0
        self.bodies = BodySlots(settings.max_in_flight)
        metrics.watch(REQUESTS_IN_FLIGHT, lambda: len(in_flight))

    def count_refusal(self, refusal: Refusal) -> None:
        """Counts a refusal of bytes that did not become a request."""
        self._metrics.answered(OTHER_OPERATION, refusal.status, refusal.code, 0.0)

    async def handle(self, request: Request) -> Response:
        """Answers one request of the data listener."""
        started = perf_counter()
        operation = ROUTES.get(request.target) or ROUTES.get(request.path)
        tenant: TenantLabels | None = None
        caller: Caller | None = None
        self._in_flight.add(request.task)
        try:
            operation_asked = self._route(request, operation)
            if request.body.is_eof():
                body = request.arrived_body(self._body_bytes)
            else:
                body = await self._read_body(request)
            call = Call(operation_asked, request.target, request.headers, body, request.peer, request.attempt)
            answer, tenant, caller = await self._pipeline.serve(call)
        except Refusal as refusal:
            answer = refuse(refusal)
        except asyncio.CancelledError:
            answer = refuse(ShuttingDown())
        except Exception as error:
            report_exception(log, error)
            answer = refuse(InternalError())
        finally:
            self._in_flight.discard(request.task)
        seconds = perf_counter() - started
        self._metrics.answered(operation or OTHER_OPERATION, answer.status, answer.code, seconds)
        if answer.status != 200 or self._access_log.share:
            self._access_log.note(request, operation, (answer, tenant, caller), seconds)
        return Response(answer)

    def _route(self, request: Request, operation: Operation | None) -> Operation:
        """Returns the operation of a route, or raises the refusal of stage 1 or 2."""
        if len(self._in_flight) - self._reading > self._max_in_flight:
            raise Overloaded(_FULL)
        if operation is None:
            raise NotFound(explain_path(request.path))
        if request.method != "POST":
            raise MethodNotAllowed(request.method, "POST")
        return operation

    async def _read_body(self, request: Request) -> bytes:
        """Reads a body that is still arriving.

        Such requests are not counted as in flight: they have slots of their own, so that slow senders cannot
        use up the capacity for calls (D150). The call counts, and may be refused, once its body is complete.
        """
        self._reading += 1
        try:
            body = await read_body(request, self._body_bytes, self._settings.body_seconds, self.bodies)
        finally:
            self._reading -= 1
        if len(self._in_flight) - self._reading > self._max_in_flight:
            raise Overloaded(_FULL)
        return body
