"""The control listener: who may manage, which call it is, and one audit line for each change asked for."""

import logging
from collections import Counter, defaultdict
from contextlib import suppress

import msgspec

from backends.errors import BackendError
from gateway.config.settings import EdgeSettings
from gateway.controlplane.errors import AppUnreadable, InvalidField, NotAllowed, NotChanged
from gateway.controlplane.routing import (
    AuditEvent,
    ControlCall,
    Router,
    Routes,
    parse_environment,
    parse_object,
)
from gateway.directory.corrupt import CorruptRecord
from gateway.directory.errors import ChangeUnknown
from gateway.domain.answers import NOT_STORED, Answer, refuse
from gateway.domain.errors import (
    AuthUnavailable,
    InternalError,
    InvalidToken,
    MissingToken,
    Refusal,
    ShuttingDown,
)
from gateway.domain.headers import Headers
from gateway.domain.rules import CONTROL_BODY_BYTES
from gateway.http.body import BodySlots, read_body
from gateway.http.messages import Request, Response
from gateway.identity.callers import Callers
from gateway.identity.permissions import Identity
from gateway.observability.logs import LogThrottle, describe_exception, report_exception

log = logging.getLogger("kvs.control")
audit_log = logging.getLogger("kvs.audit")
audit_log.setLevel(logging.INFO)  # whatever `logging.level` says: every change is recorded

REFUSAL_LINES_PER_SECOND = 20

AUTHENTICATE = "authenticate"
"""What a request counts as that sent no token, or a wrong one: nobody looks at what else it asks for."""

OTHER = "other"
"""Of an authorized request for nothing that there is."""


class ControlHandler:
    """Serves `routes` to `callers`, as far as they may. `counted` are requests by action and outcome."""

    def __init__(self, *, callers: Callers, routes: Routes, settings: EdgeSettings) -> None:
        self._callers = callers
        self.router = Router(routes)
        self._settings = settings
        self.bodies = BodySlots(settings.max_in_flight)
        self._refusals = LogThrottle(REFUSAL_LINES_PER_SECOND, seconds=1.0)
        self._uses: Counter[str] = Counter()
        self.counted: dict[tuple[str, ...], float] = defaultdict(int, {(AUTHENTICATE, "refused"): 0})

    def replace_callers(self, callers: Callers) -> None:
        """Authenticates with `callers` from the next request on."""
        self._callers = callers

    @property
    def uses(self) -> dict[str, float]:
        """How many requests each control token has sent, by its name; 0 for those that nobody uses."""
        return {name: self._uses[name] for name in self._callers.control_tokens.names}

    async def handle(self, request: Request) -> Response:
        """Answer one request of the control listener."""
        asked = _Asked()
        try:
            asked.answer = await self._answer(request, asked)
            asked.outcome = "done"
        except Refusal as refusal:
            asked.refuse(refusal)
        except CorruptRecord:  # was logged when it was found
            asked.refuse(AppUnreadable())
        except BackendError as error:
            log.warning("the directory's store failed", extra={"fields": describe_exception(error)})
            asked.refuse(NotChanged() if asked.is_change else AuthUnavailable())
        except Exception as fault:
            report_exception(log, fault)
            asked.refuse(InternalError())
        finally:
            self._account(request, asked)
        return Response(asked.answer.with_fields(NOT_STORED))

    async def _answer(self, request: Request, asked: "_Asked") -> Answer:
        asked.caller = caller = await self._authenticate(request.headers)
        if caller.issuer is None:
            self._uses[caller.name] += 1
        asked.action = OTHER
        match = self.router.find(request.method, request.target.decode("latin-1"))
        asked.action, asked.is_change = match.action.name, request.method != "GET"
        if len(match.parts) > 1:
            org, app, *_ = match.parts
            with suppress(InvalidField):
                asked.audit["environment"] = str(
                    parse_environment(org, app, match.query, match.action.parameters)
                )
        body = await read_body(request, CONTROL_BODY_BYTES, self._settings.body_seconds, self.bodies)
        fields = parse_object(body)
        if not match.action.is_open_to(caller, match.parts, fields):
            raise NotAllowed
        only_if_new = request.headers.get(b"if-none-match") == b"*"
        call = ControlCall(
            match.parts, match.query, fields, asked.audit, caller, only_if_new, match.action.parameters
        )
        done = await match.action.endpoint(call)
        body = b"" if done.status == 204 else msgspec.json.encode(done.body)
        return Answer(done.status, body, fields=done.fields)

    def _account(self, request: Request, asked: "_Asked") -> None:
        """Count the request. A change is an audit line (D39), what is refused one of few a second (D149)."""
        self.counted[asked.action, asked.outcome] += 1
        told: dict[str, object] = {"action": asked.action}
        if asked.answer.code is not None:
            told["code"] = asked.answer.code
        who = {**asked.actor, "peer": request.peer, "request_id": request.id}
        if asked.is_change:
            fields = {**told, **asked.audit, "outcome": asked.outcome, **who}
            audit_log.info("change", extra={"fields": fields})
        if asked.outcome == "refused" and asked.answer.status < 500 and self._refusals.admits():
            log.warning("a control request was refused", extra={"fields": {**told, **who}})

    async def _authenticate(self, headers: Headers) -> Identity:
        """Who sent a token (D36). Raises MissingToken, InvalidToken and KeysUnavailable."""
        field = headers.get(b"authorization")
        if not field:
            raise MissingToken("Authorization: missing, it carries Bearer and a control token")
        scheme, _, token = field.partition(b" ")
        if scheme.lower() != b"bearer" or b"authorization" in headers.repeated:
            raise InvalidToken("Authorization: not Bearer and one control token")
        caller = await self._callers.identify(token.strip())
        if caller is None:
            raise InvalidToken(_explain_token(token.strip()))
        return caller


def _explain_token(token: bytes) -> str:
    if token.startswith(b"kvs_"):
        return "a table token manages nothing"
    if token.startswith(b"eyJ"):
        return "a JWT that proves nothing here: check iss, aud, sub, exp, nbf, alg and the signature"
    return "no such control token"


class _Asked:
    """What is known of a request when it is accounted for, however it ended."""

    def __init__(self) -> None:
        self.action = AUTHENTICATE
        self.is_change = False
        self.audit: AuditEvent = {"environment": None}
        self.caller: Identity | None = None
        self.answer = refuse(ShuttingDown())
        self.outcome = "unknown"
        """Also that of a call that was cancelled."""

    @property
    def actor(self) -> dict[str, str | None]:
        """Who asks: a bearer by name, or a subject and the issuer that vouches for it; nobody so far."""
        if self.caller is None:
            return {"actor": None}
        actor: dict[str, str | None] = {"actor": self.caller.name}
        if self.caller.issuer is not None:
            actor["issuer"] = self.caller.issuer
        return actor

    def refuse(self, refusal: Refusal) -> None:
        """Nothing was changed, except perhaps where the gateway cannot say."""
        self.answer = refuse(refusal)
        is_unknown = isinstance(refusal, ChangeUnknown | InternalError)
        self.outcome = "unknown" if is_unknown else "refused"
