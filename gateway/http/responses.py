"""Answers on the wire, the same for all three listeners."""

from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from backends.clock import Clock
from gateway.config.settings import EdgeSettings
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import BadRequest, BodyTooLarge, Refusal, RequestTimeout, ShuttingDown
from gateway.http.messages import HttpRequest, HttpResponse, LastResponse

_BREAKING = frozenset({BadRequest.code, RequestTimeout.code, BodyTooLarge.code})
"""After these nobody knows where the next request begins."""


def encode_response(answer: Answer, request_id: str, now_seconds: int, *, keep_alive: bool) -> bytes:
    """Head and body in one piece, so that they leave in one packet."""
    start = _start(answer.status, answer.content_type, len(answer.body), now_seconds)
    fields = "".join([f"{name}: {value}\r\n" for name, value in answer.fields]) if answer.fields else ""
    end = "" if keep_alive else "Connection: close\r\n"
    return f"{start}x-request-id: {request_id}\r\n{fields}{end}\r\n".encode() + answer.body


class Responder:
    """Puts the answers of one listener on the wire."""

    def __init__(self, settings: EdgeSettings, clock: Clock) -> None:
        self._write_seconds = settings.write_seconds
        self._clock = clock
        self.draining = False

    def respond(self, request: HttpRequest, answer: Answer) -> HttpResponse:
        """The response to a request; what is left of its body, or a drain, ends the connection.

        A drain lets pipelined requests that are there be answered first.
        """
        is_read = request.content.is_eof() and answer.code not in _BREAKING
        is_drained = self.draining and (answer.code == ShuttingDown.code or not request.protocol.has_next)
        keep_alive = is_read and request.keep_alive and not is_drained
        wire = encode_response(answer, request.id, self._clock.wall_ms() // 1000, keep_alive=keep_alive)
        if request.method == "HEAD":
            wire = wire[: len(wire) - len(answer.body)]
        kind = HttpResponse if is_read and not is_drained else LastResponse
        return kind(wire, keep_alive=keep_alive, write_seconds=self._write_seconds)

    def refuse_connection(self, refusal: Refusal, request_id: str) -> LastResponse:
        """The response to what is not a request, or cannot be served; it ends the connection."""
        now_seconds = self._clock.wall_ms() // 1000
        wire = encode_response(refuse(refusal), request_id, now_seconds, keep_alive=False)
        return LastResponse(wire, keep_alive=False, write_seconds=self._write_seconds)


@lru_cache(8)
def _http_date(now_seconds: int) -> str:
    return formatdate(now_seconds, usegmt=True)


@lru_cache(1024)
def _start(status: int, content_type: str, content_length: int, now_seconds: int) -> str:
    """What many responses of one second begin with."""
    content = f"Content-Type: {content_type}\r\nContent-Length: {content_length}\r\n"
    return (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"{content if status != HTTPStatus.NO_CONTENT else ''}"
        f"Date: {_http_date(now_seconds)}\r\n"
    )
