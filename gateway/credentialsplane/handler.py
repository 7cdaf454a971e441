"""Handles requests of the credentials listener: two forms, counts and audit events."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from gateway.credentialsplane.budgets import Attempt, Budgets
from gateway.domain.answers import NOT_STORED, Answer, refuse
from gateway.domain.errors import InternalError, MethodNotAllowed, NotFound, Refusal, ShuttingDown
from gateway.domain.hosts import AcceptedHosts
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


class Form(Protocol):
    """A protocol by which workloads request credentials."""

    name: str
    method: str

    async def answer(self, request: Request, attempt: Attempt) -> Answer:
        """Returns the credentials. Raises Refusal."""
        ...

    def refuse(self, refusal: Refusal, request: Request) -> Answer:
        """Renders a refusal as clients of this form expect it."""
        ...


class CredentialsHandler:
    """Serves the forms at their paths. `counted` counts requests by form and outcome."""

    def __init__(self, forms: dict[bytes, Form], budgets: Budgets, hosts: AcceptedHosts) -> None:
        self._hosts = hosts
        self._forms = forms
        self._budgets = budgets
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
        self._hosts.check(request.headers)
        if form is None:
            raise NotFound
        if request.method != form.method:
            raise MethodNotAllowed(request.method, form.method)
        attempt = Attempt(self._budgets, request.peer, audit)
        try:
            return await form.answer(request, attempt)
        except Refusal:
            attempt.refuse()
            raise

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
