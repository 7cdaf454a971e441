"""The control listener: who may manage, which call it is, and one audit event per change."""

import hmac
import logging
from collections.abc import Sequence

import msgspec

from backends.errors import BackendError
from gateway.config.settings import EdgeSettings
from gateway.controlplane.calls import ControlCall, Router, Routes, parse_object
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import (
    AuthUnavailable,
    InternalError,
    InvalidToken,
    MissingToken,
    Refusal,
)
from gateway.domain.headers import Headers
from gateway.domain.rules import CONTROL_BODY_BYTES
from gateway.http.body import read_body
from gateway.http.messages import Request, Response
from gateway.observability.logs import describe_exception, report_exception

log = logging.getLogger("kvs.control")
audit_log = logging.getLogger("kvs.audit")
audit_log.setLevel(logging.INFO)  # whatever `logging.level` says: every change is recorded


class ControlHandler:
    """Serves `routes` to those who send a control token."""

    def __init__(self, *, tokens: Sequence[str], routes: Routes, settings: EdgeSettings) -> None:
        self.replace_tokens(tokens)
        self.router = Router(routes)
        self._settings = settings

    def replace_tokens(self, tokens: Sequence[str]) -> None:
        """Accept these tokens and no others, from the next request on."""
        self._tokens = [token.encode() for token in tokens]

    async def handle(self, request: Request) -> Response:
        """Answer one request of the control listener."""
        try:
            answer = await self._answer(request)
        except Refusal as refusal:
            answer = refuse(refusal)
        except BackendError as error:
            log.warning("the directory's store failed", extra={"fields": describe_exception(error)})
            answer = refuse(AuthUnavailable())
        except Exception as error:
            report_exception(log, error)
            answer = refuse(InternalError())
        return Response(answer)

    async def _answer(self, request: Request) -> Answer:
        token_number = self._authorize(request.headers)
        endpoint, parts, query = self.router.find(request.method, request.target.decode("latin-1"))
        body = await read_body(request, CONTROL_BODY_BYTES, self._settings.body_seconds)
        done = await endpoint(ControlCall(parts, query, parse_object(body)))
        if done.audit is not None:
            who = {"control_token": token_number, "peer": request.peer, "request_id": request.id}
            audit_log.info("change", extra={"fields": {**done.audit, **who}})
        return Answer(done.status, b"" if done.status == 204 else msgspec.json.encode(done.body))

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
