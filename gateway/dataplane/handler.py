"""The data listener: stages 1 and 2 of the contract, then the pipeline; one line of accounting at the end."""

import asyncio
import logging
from random import random
from time import perf_counter

from gateway.config.settings import EdgeSettings
from gateway.dataplane.pipeline import Pipeline
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import (
    BadRequest,
    InternalError,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    Refusal,
    ShuttingDown,
)
from gateway.domain.model import Call, Operation, TenantLabels
from gateway.http.body import arrived_body, read_body
from gateway.http.messages import Request, Response
from gateway.observability.catalogue import REQUESTS_IN_FLIGHT
from gateway.observability.logs import LogThrottle, report_exception
from gateway.observability.metrics import OTHER_OPERATION, ServiceMetrics

log = logging.getLogger("kvs.access")

FAILURE_LINES_PER_SECOND = 20

ROUTES = {f"/v1/{operation}".encode(): operation for operation in Operation}


class DataHandler:
    """Serves calls. `in_flight` are the tasks that serve one now."""

    def __init__(
        self,
        *,
        pipeline: Pipeline,
        in_flight: set[asyncio.Task[None]],
        metrics: ServiceMetrics,
        settings: EdgeSettings,
        body_bytes: int,
        access_share: float,
    ) -> None:
        self._pipeline = pipeline
        self._metrics = metrics
        self._settings = settings
        self._body_bytes = body_bytes
        self._access_share = access_share
        self._failure_lines = LogThrottle(FAILURE_LINES_PER_SECOND, seconds=1.0)
        self._in_flight = in_flight
        self._reading = 0
        metrics.watch(REQUESTS_IN_FLIGHT, lambda: len(in_flight))

    def count_refusal(self, refusal: Refusal) -> None:
        """Account for what was refused before it was a request."""
        self._metrics.answered(OTHER_OPERATION, refusal.status, refusal.code, 0.0)

    async def handle(self, request: Request) -> Response:
        """Answer one request of the data listener."""
        started = perf_counter()
        operation = ROUTES.get(request.target) or ROUTES.get(request.path)
        call: Call | None = None
        tenant: TenantLabels | None = None
        self._in_flight.add(request.task)
        try:
            operation_asked = self._route(request, operation)
            if request.body.is_eof():
                body = arrived_body(request, self._body_bytes)
            else:
                body = await self._read_body(request)
            call = Call(operation_asked, request.target, request.headers, body, request.peer)
            answer, tenant = await self._pipeline.serve(call)
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
        if answer.status >= 500 or (self._access_share and random() < self._access_share):  # noqa: S311
            operation_name = operation or OTHER_OPERATION
            self._log(request, operation_name, call=call, answer=answer, tenant=tenant, seconds=seconds)
        return Response(answer)

    def _route(self, request: Request, operation: Operation | None) -> Operation:
        """The operation that was asked for, if it can be asked for like this and now."""
        self._refuse_overload()
        if operation is None:
            raise NotFound
        if request.method != "POST":
            raise MethodNotAllowed
        coding = request.headers.get(b"transfer-encoding")
        if coding is not None and coding.lower() != b"chunked":
            raise BadRequest
        return operation

    async def _read_body(self, request: Request) -> bytes:
        """Bodies that are still arriving have slots of their own, so that slow ones cannot take all (D69)."""
        if self._reading >= self._settings.max_in_flight:
            raise Overloaded
        self._reading += 1
        try:
            body = await read_body(request, self._body_bytes, self._settings.body_seconds)
        finally:
            self._reading -= 1
        self._refuse_overload()
        return body

    def _refuse_overload(self) -> None:
        if len(self._in_flight) - self._reading > self._settings.max_in_flight:
            raise Overloaded

    def _log(
        self,
        request: Request,
        operation: str,
        *,
        call: Call | None,
        answer: Answer,
        tenant: TenantLabels | None,
        seconds: float,
    ) -> None:
        """One line. Failures are logged whether or not they are sampled, at most so many a second (D49)."""
        is_failure = answer.status >= 500
        if is_failure and not self._failure_lines.admits():
            return
        fields = {
            "request_id": request.id,
            "tenant": None if tenant is None else [tenant.org, tenant.app, tenant.env, tenant.table],
            "operation": operation,
            "status": answer.status,
            "code": answer.code,
            "duration_ms": round(seconds * 1000, 3),
            "request_bytes": None if call is None else len(call.body),
            "response_bytes": len(answer.body),
        }
        log.log(logging.WARNING if is_failure else logging.INFO, "request", extra={"fields": fields})
