"""The control listener: who may manage, which call it is, and one audit line for each change asked for."""

import hmac
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from backends.errors import BackendError
from gateway.config.settings import EdgeSettings
from gateway.controlplane.calls import (
    AuditEvent,
    ControlCall,
    Router,
    Routes,
    parse_environment,
    parse_object,
)
from gateway.directory.corrupt import CorruptRecord
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import (
    AppUnreadable,
    AuthUnavailable,
    ChangeUnknown,
    InternalError,
    InvalidField,
    InvalidToken,
    MissingToken,
    NotChanged,
    Refusal,
    ShuttingDown,
)
from gateway.domain.headers import Headers
from gateway.domain.rules import CONTROL_BODY_BYTES
from gateway.http.body import BodySlots, read_body
from gateway.http.messages import Request, Response
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
    """Serves `routes` to those who send a control token. `counted` are requests by action and outcome."""

    def __init__(self, *, tokens: Sequence[str], routes: Routes, settings: EdgeSettings) -> None:
        self.replace_tokens(tokens)
        self.router = Router(routes)
        self._settings = settings
        self.bodies = BodySlots(settings.max_in_flight)
        self._refusals = LogThrottle(REFUSAL_LINES_PER_SECOND, seconds=1.0)
        self.counted: dict[tuple[str, ...], float] = defaultdict(int, {(AUTHENTICATE, "refused"): 0})

    def replace_tokens(self, tokens: Sequence[str]) -> None:
        """Accept these tokens and no others, from the next request on."""
        self._tokens = [token.encode() for token in tokens]

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
        return Response(asked.answer)

    async def _answer(self, request: Request, asked: "_Asked") -> Answer:
        asked.token_number = self._authorize(request.headers)
        asked.action = OTHER
        match = self.router.find(request.method, request.target.decode("latin-1"))
        asked.action, asked.is_change = match.action, request.method != "GET"
        if len(match.parts) > 1:
            org, app, *_ = match.parts
            with suppress(InvalidField):
                asked.audit["environment"] = str(parse_environment(org, app, match.query))
        body = await read_body(request, CONTROL_BODY_BYTES, self._settings.body_seconds, self.bodies)
        call = ControlCall(match.parts, match.query, parse_object(body), asked.audit)
        done = await match.endpoint(call)
        body = b"" if done.status == 204 else msgspec.json.encode(done.body)
        return Answer(done.status, body, fields=done.fields)

    def _account(self, request: Request, asked: "_Asked") -> None:
        """Count the request. A change is an audit line (D39), what is refused one of few a second (D156)."""
        self.counted[asked.action, asked.outcome] += 1
        told: dict[str, object] = {"action": asked.action}
        if asked.answer.code is not None:
            told["code"] = asked.answer.code
        who = {"control_token": asked.token_number, "peer": request.peer, "request_id": request.id}
        if asked.is_change:
            fields = {**told, **asked.audit, "outcome": asked.outcome, **who}
            audit_log.info("change", extra={"fields": fields})
        if asked.outcome == "refused" and asked.answer.status < 500 and self._refusals.admits():
            log.warning("a control request was refused", extra={"fields": {**told, **who}})

    def _authorize(self, headers: Headers) -> int:
        """The position, from 1, of the configured token that was sent, in constant time for all (D36)."""
        field = headers.get(b"authorization")
        if not field:
            raise MissingToken
        scheme, _, token = field.partition(b" ")
        matches = [hmac.compare_digest(token.strip(), known) for known in self._tokens]
        if scheme.lower() != b"bearer" or b"authorization" in headers.repeated or not any(matches):
            raise InvalidToken
        return matches.index(True) + 1


class _Asked:
    """What is known of a request when it is accounted for, however it ended."""

    def __init__(self) -> None:
        self.action = AUTHENTICATE
        self.is_change = False
        self.audit: AuditEvent = {"environment": None}
        self.token_number: int | None = None
        self.answer = refuse(ShuttingDown())
        self.outcome = "unknown"
        """Also that of a call that was cancelled."""

    def refuse(self, refusal: Refusal) -> None:
        """Nothing was changed, except perhaps where the gateway cannot say."""
        self.answer = refuse(refusal)
        is_unknown = isinstance(refusal, ChangeUnknown | InternalError)
        self.outcome = "unknown" if is_unknown else "refused"
