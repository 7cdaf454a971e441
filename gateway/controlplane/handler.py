"""Handles requests of the control listener: authentication, permission, routing, audit."""

import logging
from collections import Counter, defaultdict
from contextlib import suppress

import msgspec

from backends.errors import BackendError
from gateway.config.settings import EdgeSettings
from gateway.controlplane.errors import AppUnreadable, InvalidField, NotAllowed, NotChanged
from gateway.controlplane.fields import parse_environment, parse_object
from gateway.controlplane.routing import ControlCall, Router, Routes
from gateway.directory.corrupt import CorruptRecord
from gateway.directory.errors import ChangeUnknown
from gateway.domain.answers import NOT_STORED, Answer, refuse
from gateway.domain.call import Headers
from gateway.domain.errors import (
    NOT_BEGUN,
    AuthUnavailable,
    InternalError,
    InvalidToken,
    MissingToken,
    Overloaded,
    Refusal,
    ShuttingDown,
)
from gateway.domain.hosts import AcceptedHosts
from gateway.domain.rules import CONTROL_BODY_BYTES
from gateway.http.body import BodySlots, read_body
from gateway.http.messages import Request, Response
from gateway.http.turns import MAX_BODIES
from gateway.identity.callers import Callers
from gateway.identity.permissions import Identity
from gateway.observability.logs import (
    REFUSAL_LINES_PER_SECOND,
    AuditContext,
    LogThrottle,
    audit_log,
    describe_exception,
    report_exception,
)

log = logging.getLogger("kvs.control")
AUTHENTICATE = "authenticate"
"""Action of a request without a valid token: nothing else of it is read."""

OTHER = "other"
"""Action of an authenticated request for an unknown path or method."""


class ControlHandler:
    """Serves `routes` to `callers` within their permissions. `counted` counts by action and outcome."""

    def __init__(
        self, *, callers: Callers, routes: Routes, settings: EdgeSettings, hosts: AcceptedHosts
    ) -> None:
        self.hosts = hosts
        self._callers = callers
        self.router = Router(routes)
        self._settings = settings
        self.bodies = BodySlots(min(MAX_BODIES, settings.max_in_flight))
        self._refusals = LogThrottle(REFUSAL_LINES_PER_SECOND, seconds=1.0)
        self._uses: Counter[str] = Counter()
        self.counted: dict[tuple[str, ...], float] = defaultdict(int, {(AUTHENTICATE, "refused"): 0})

    def replace_callers(self, callers: Callers) -> None:
        """Authenticates with `callers` from the next request on."""
        self._callers = callers

    @property
    def uses(self) -> dict[str, float]:
        """Requests by name of the control token; 0 for a token without any."""
        return {name: self._uses[name] for name in self._callers.control_tokens.names}

    async def handle(self, request: Request) -> Response:
        """Answers one request of the control listener."""
        audit = _ControlAudit()
        try:
            audit.answer = await self._answer(request, audit)
            audit.outcome = "done"
        except Refusal as refusal:
            audit.refuse(refusal)
        except CorruptRecord:  # logged by the directory
            audit.refuse(AppUnreadable())
        except BackendError as error:
            log.warning("the directory's store failed", extra={"fields": describe_exception(error)})
            audit.refuse(NotChanged() if audit.is_change else AuthUnavailable())
        except Exception as fault:
            report_exception(log, fault)
            audit.refuse(InternalError())
        finally:
            self._account(request, audit)
        return Response(audit.answer.with_fields(NOT_STORED))

    async def _answer(self, request: Request, audit: "_ControlAudit") -> Answer:
        self.hosts.check(request.headers)
        # The token is checked before route and body, so that nothing can be learnt without one.
        caller = await self._authenticate(request.headers)
        audit.identify(caller.name, caller.issuer)
        if caller.issuer is None:
            self._uses[caller.name] += 1
        audit.action = OTHER
        match = self.router.find(request.method, request.target.decode("latin-1"))
        audit.action, audit.is_change = match.action.name, request.method != "GET"
        if len(match.parts) > 1:
            org, app, *_ = match.parts
            with suppress(InvalidField):
                environment = parse_environment(org, app, match.query, match.action.parameters)
                audit.note(environment=str(environment))
        body = await read_body(request, CONTROL_BODY_BYTES, self._settings.body_seconds, self.bodies)
        fields = parse_object(body)
        # Permission is decided by names alone, before the endpoint looks up any resource (D172).
        if not match.action.is_open_to(caller, match.parts, fields):
            raise NotAllowed
        only_if_new = request.headers.get(b"if-none-match") == b"*"
        call = ControlCall(
            match.parts, match.query, fields, audit.details, caller, only_if_new, match.action.parameters
        )
        if audit.is_change and not request.attempt.may_write():
            raise Overloaded(NOT_BEGUN)
        result = await match.action.endpoint(call)
        body = b"" if result.status == 204 else msgspec.json.encode(result.body)
        return Answer(result.status, body, fields=result.fields)

    def _account(self, request: Request, audit: "_ControlAudit") -> None:
        """Counts the request and logs it: every change, and a few refusals per second (D48)."""
        self.counted[audit.action, audit.outcome] += 1
        action: dict[str, object] = {"action": audit.action}
        if audit.answer.code is not None:
            action["code"] = audit.answer.code
        actor = {**audit.actor, "peer": request.peer, "request_id": request.id}
        if audit.is_change:
            fields = {**action, **audit.details, "outcome": audit.outcome, **actor}
            audit_log.info("change", extra={"fields": fields})
        if audit.is_refused_to_caller and self._refusals.admits():
            log.warning("a control request was refused", extra={"fields": {**action, **actor}})

    async def _authenticate(self, headers: Headers) -> Identity:
        """Returns the identity of the bearer. Raises MissingToken, InvalidToken and KeysUnavailable."""
        token = headers.bearer_token(b"authorization", "Authorization", "a control token")
        if token is None:
            raise MissingToken("Authorization: missing, send Bearer and a control token")
        caller = await self._callers.identify(token)
        if caller is None:
            raise InvalidToken(_explain_token(token))
        return caller


def _explain_token(token: bytes) -> str:
    if token.startswith(b"kvs_"):
        return "this is a table token; send a control token"
    if token.startswith(b"eyJ"):
        return "this JWT is not accepted: check iss, aud, sub, exp, nbf, alg and the signature"
    return "no such control token"


class _ControlAudit(AuditContext):
    """The audit context of a control request, with its answer. A cancelled request has outcome `unknown`."""

    def __init__(self) -> None:
        super().__init__(AUTHENTICATE, outcome="unknown")
        self.actor = {"actor": None}
        self.details = {"environment": None}
        self.is_change = False
        self.answer = refuse(ShuttingDown())

    @property
    def is_refused_to_caller(self) -> bool:
        """Returns whether the caller may be the cause, for example by a token under an unknown key (503)."""
        is_anonymous = self.action == AUTHENTICATE
        return self.outcome == "refused" and (self.answer.status < 500 or is_anonymous)

    def refuse(self, refusal: Refusal) -> None:
        """Records a refusal. Its outcome is `unknown` if the change may have been made nevertheless."""
        self.answer = refuse(refusal)
        is_unknown = isinstance(refusal, ChangeUnknown | InternalError)
        self.outcome = "unknown" if is_unknown else "refused"
