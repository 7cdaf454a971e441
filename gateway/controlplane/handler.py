"""The control listener: who may manage, which call it is, and one audit line per change."""

import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import Struct

from backends.errors import BackendError
from gateway.config.settings import EdgeSettings
from gateway.controlplane.fields import Fields, parse_object
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import (
    AuthUnavailable,
    InternalError,
    InvalidToken,
    MethodNotAllowed,
    MissingToken,
    NotFound,
    Refusal,
)
from gateway.domain.headers import Headers
from gateway.domain.rules import CONTROL_BODY_BYTES
from gateway.http.body import read_body
from gateway.http.messages import Request, Response
from gateway.observability.logs import describe_exception, report_exception

log = logging.getLogger("kvs.control")
audit_log = logging.getLogger("kvs.audit")
audit_log.setLevel(logging.INFO)  # whatever `logging.level` says: no change goes unrecorded


class ControlCall(Struct, frozen=True):
    """One authorized request: the path's variable parts, the query, the body's fields."""

    parts: tuple[str, ...]
    query: str
    fields: Fields


class Done(Struct, frozen=True):
    """What a call answers; `audit` is set for a change and says what was done to what."""

    status: int
    body: object = None
    audit: dict[str, object] | None = None


Endpoint = Callable[[ControlCall], Awaitable[Done]]
Routes = Sequence[tuple[str, dict[str, Endpoint]]]


class ControlEdge:
    """Serves `routes`: a path pattern whose groups are its variable parts, and an endpoint per method."""

    def __init__(self, *, tokens: Sequence[str], routes: Routes, settings: EdgeSettings) -> None:
        self.renew(tokens)
        self._routes = [(re.compile(pattern), methods) for pattern, methods in routes]
        self._settings = settings

    def renew(self, tokens: Sequence[str]) -> None:
        """Take these tokens, and no others."""
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
        except Exception as fault:
            report_exception(log, fault)
            answer = refuse(InternalError())
        return Response(answer)

    async def _answer(self, request: Request) -> Answer:
        token_number = self._authorize(request.headers)
        endpoint, parts, query = self._route(request)
        body = await read_body(request, CONTROL_BODY_BYTES, self._settings.body_seconds)
        done = await endpoint(ControlCall(parts, query, parse_object(body)))
        if done.audit is not None:
            who = {"control_token": token_number, "peer": request.peer, "request_id": request.id}
            audit_log.info("change", extra={"fields": {**done.audit, **who}})
        return Answer(204, b"") if done.status == 204 else _json(done.status, done.body)

    def _authorize(self, headers: Headers) -> int:
        """The position, from 1, of the configured token that was sent. Takes the same time for each."""
        field = headers.get(b"authorization")
        if not field:
            raise MissingToken
        scheme, _, token = field.partition(b" ")
        matches = [hmac.compare_digest(token.strip(), known) for known in self._tokens]
        if scheme.lower() != b"bearer" or b"authorization" in headers.repeated or not any(matches):
            raise InvalidToken
        return matches.index(True) + 1

    def _route(self, request: Request) -> tuple[Endpoint, tuple[str, ...], str]:
        path, _, query = request.target.decode("latin-1").partition("?")
        for pattern, methods in self._routes:
            match = pattern.fullmatch(path)
            if match is not None:
                endpoint = methods.get(request.method)
                if endpoint is None:
                    raise MethodNotAllowed(", ".join(methods))
                return endpoint, match.groups(), query
        raise NotFound


def _json(status: int, body: object) -> Answer:
    return Answer(status, msgspec.json.encode(body))
