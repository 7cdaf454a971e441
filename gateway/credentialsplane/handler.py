"""Handles requests of the credentials listener: two forms, a limit per address, counts and audit events."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from backends.clock import Clock
from gateway.credentialsplane.errors import TooManyExchanges
from gateway.credentialsplane.workloads import Workload
from gateway.domain.answers import NOT_STORED, Answer, refuse
from gateway.domain.errors import InternalError, MethodNotAllowed, NotFound, Refusal, ShuttingDown
from gateway.domain.rules import WINDOW_MS
from gateway.domain.windows import WindowedCounts
from gateway.http.admission import client_of
from gateway.http.messages import Request, Response
from gateway.observability.logs import (
    REFUSAL_LINES_PER_SECOND,
    AuditContext,
    LogThrottle,
    audit_log,
    report_exception,
)

log = logging.getLogger("kvs.credentials")

OTHER = "other"
"""Form of a request for an unknown path."""

ISSUED = "issued"

_MAX_ADDRESSES = 10_000


class Form(Protocol):
    """One way to ask for credentials."""

    name: str
    method: str

    async def answer(self, request: Request, audit: AuditContext) -> Answer:
        """Returns the credentials. Raises Refusal."""
        ...

    def refuse(self, refusal: Refusal, request: Request) -> Answer:
        """Renders a refusal as clients of this form expect it."""
        ...


def note_workload(audit: AuditContext, workload: Workload) -> Workload:
    """Records the workload as the actor, and returns it."""
    audit.identify(workload.subject, workload.issuer)
    audit.note(environment=str(workload.environment), role=workload.role)
    return workload


class AddressRateLimiter:
    """Admits `limit` requests per client address and minute. A window opens at the first request."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._counts = WindowedCounts(clock.monotonic_ms, window_ms=WINDOW_MS, max_keys=_MAX_ADDRESSES)

    def admit(self, peer: str) -> int | None:
        """Counts a request. Returns None if it is admitted, else the seconds until the window closes."""
        address = client_of(peer)
        if self._counts.count(address) >= self._limit:
            return -(-self._counts.closes_in_ms(address) // 1000)
        self._counts.add(address)
        return None


class CredentialsHandler:
    """Serves the forms at their paths. `counted` counts requests by form and outcome."""

    def __init__(self, forms: dict[bytes, Form], limiter: AddressRateLimiter) -> None:
        self._forms = forms
        self._limiter = limiter
        self._refusals = LogThrottle(REFUSAL_LINES_PER_SECOND, seconds=1.0)
        self.counted: dict[tuple[str, ...], float] = defaultdict(int, first_counts(list(forms.values())))

    async def handle(self, request: Request) -> Response:
        """Answers one request of the credentials listener."""
        form = self._forms.get(request.path)
        audit = AuditContext(OTHER if form is None else form.name, outcome=ShuttingDown.code)
        try:
            answer = await self._answer(request, form, audit)
            audit.outcome = ISSUED
        except Refusal as refusal:
            audit.outcome = refusal.code
            answer = refuse(refusal) if form is None else form.refuse(refusal, request)
        except Exception as fault:
            report_exception(log, fault)
            audit.outcome = InternalError.code
            answer = refuse(InternalError()) if form is None else form.refuse(InternalError(), request)
        finally:
            self._account(request, audit)
        return Response(answer.with_fields(NOT_STORED))

    async def _answer(self, request: Request, form: Form | None, audit: AuditContext) -> Answer:
        # The limit of the address comes first, so in a flood no body is read and no signature verified.
        retry_after_seconds = self._limiter.admit(request.peer)
        if retry_after_seconds is not None:
            raise TooManyExchanges(retry_after_seconds)
        if form is None:
            raise NotFound
        if request.method != form.method:
            raise MethodNotAllowed(request.method, form.method)
        return await form.answer(request, audit)

    def _account(self, request: Request, audit: AuditContext) -> None:
        """Counts the request and logs it: all issued credentials, and a few refusals per second."""
        self.counted[audit.action, audit.outcome] += 1
        fields = {"action": f"credentials.{audit.action}", **audit.actor, **audit.details}
        fields |= {"peer": request.peer, "request_id": request.id}
        if audit.outcome == ISSUED:
            audit_log.info("change", extra={"fields": {**fields, "outcome": "done"}})
        elif self._refusals.admits():
            log.warning(
                "a workload was refused credentials", extra={"fields": {**fields, "code": audit.outcome}}
            )


def first_counts(forms: Sequence[Form]) -> dict[tuple[str, ...], float]:
    """Returns the initial counts: issued credentials of each form are exposed as 0 from the start."""
    return {(form.name, ISSUED): 0 for form in forms}
