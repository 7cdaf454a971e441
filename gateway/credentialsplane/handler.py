"""The credentials listener: two forms to ask in, a bound for each address, a count and an audit line."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from gateway.credentials.session import IssuedSession
from gateway.credentialsplane.address_rate import AddressRateLimiter
from gateway.credentialsplane.errors import TooManyExchanges
from gateway.credentialsplane.workloads import Workload
from gateway.domain.answers import NOT_STORED, Answer, refuse
from gateway.domain.errors import InternalError, MethodNotAllowed, NotFound, Refusal, ShuttingDown
from gateway.http.messages import Request, Response
from gateway.observability.logs import LogThrottle, report_exception

log = logging.getLogger("kvs.credentials")
audit_log = logging.getLogger("kvs.audit")

REFUSAL_LINES_PER_SECOND = 20

OTHER = "other"
"""The form of a request for nothing that there is."""


class Form(Protocol):
    """One way to ask for credentials."""

    name: str
    method: str

    async def answer(self, request: Request, asked: "Asked") -> Answer:
        """The credentials. Raises Refusal."""
        ...

    def refuse(self, refusal: Refusal, request: Request) -> Answer:
        """The refusal, as who asks in this form expects it."""
        ...


class Asked:
    """What is known of a request when it is accounted for. No token and no secret."""

    def __init__(self) -> None:
        self.fields: dict[str, object] = {}
        self.outcome = ShuttingDown.code
        """Also that of a request that was cancelled."""

    def of(self, workload: Workload) -> Workload:
        """Note who asks."""
        self.fields["actor"] = workload.subject
        if workload.issuer is not None:
            self.fields["issuer"] = workload.issuer
        self.fields["environment"], self.fields["role"] = str(workload.environment), workload.role
        return workload

    def issued(self, issued: IssuedSession, **details: object) -> None:
        """Note what was given."""
        self.fields |= {"access_key_id": issued.access_key_id, **details}


class CredentialsHandler:
    """Serves the forms at their paths. `counted` are requests by form and outcome."""

    def __init__(self, forms: dict[bytes, Form], arrivals: AddressRateLimiter) -> None:
        self._forms = forms
        self._arrivals = arrivals
        self._refusals = LogThrottle(REFUSAL_LINES_PER_SECOND, seconds=1.0)
        self.counted: dict[tuple[str, ...], float] = defaultdict(int, first_counts(list(forms.values())))

    async def handle(self, request: Request) -> Response:
        """Answer one request of the credentials listener."""
        form = self._forms.get(request.path)
        asked = Asked()
        try:
            answer = await self._answer(request, form, asked)
            asked.outcome = "issued"
        except Refusal as refusal:
            asked.outcome = refusal.code
            answer = refuse(refusal) if form is None else form.refuse(refusal, request)
        except Exception as fault:
            report_exception(log, fault)
            asked.outcome = InternalError.code
            answer = refuse(InternalError()) if form is None else form.refuse(InternalError(), request)
        finally:
            self._account(request, OTHER if form is None else form.name, asked)
        return Response(answer.with_fields(NOT_STORED))

    async def _answer(self, request: Request, form: Form | None, asked: Asked) -> Answer:
        retry_after_seconds = self._arrivals.admit(request.peer)
        if retry_after_seconds is not None:
            raise TooManyExchanges(retry_after_seconds)
        if form is None:
            raise NotFound
        if request.method != form.method:
            raise MethodNotAllowed(request.method, form.method)
        return await form.answer(request, asked)

    def _account(self, request: Request, form: str, asked: Asked) -> None:
        """Count it. What was issued is an audit line, what was refused one of few lines a second (D182)."""
        self.counted[form, asked.outcome] += 1
        fields = {"action": f"credentials.{form}", **asked.fields}
        fields |= {"peer": request.peer, "request_id": request.id}
        if asked.outcome == "issued":
            audit_log.info("change", extra={"fields": {**fields, "outcome": "done"}})
        elif self._refusals.admits():
            log.warning(
                "a workload was refused credentials", extra={"fields": {**fields, "code": asked.outcome}}
            )


def first_counts(forms: Sequence[Form]) -> dict[tuple[str, ...], float]:
    """A series for what is issued in each form, from the start."""
    return {(form.name, "issued"): 0 for form in forms}
