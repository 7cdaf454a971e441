"""Requests and responses as values, and the bytes of a response."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from random import getrandbits
from typing import Protocol

from aiohttp import StreamReader
from aiohttp.http import HttpVersion11, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD
from msgspec import Struct

from gateway.domain.answers import Answer, refuse
from gateway.domain.call import Attempt, Headers
from gateway.domain.errors import BadRequest, BodyTooLarge, Refusal
from gateway.http.receiving import BrokenBody

_WITHOUT_CONTENT = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
"""Statuses without Content-Length: 0 would be the length of the resource (RFC 9110, section 8.6)."""

_REQUEST_ID = b"x-request-id"
_LARGE_BYTES = 262_144
BROKEN_BODY = "body: malformed framing, or it ended before its declared length"
_OWN_ID = re.compile(rb"[!-~]{1,128}")


class Client(Attempt, Protocol):
    """The connection of a request's client."""

    peer: str

    def invite(self) -> None:
        """Asks the client for the body (`100 Continue`)."""
        ...


class Request:
    """One request. `target` is the bytes on the wire, `body` the stream of its body; `task` serves it.

    `id` is the client's own if it has 1 to 128 visible ASCII characters, else a new one. `invite` asks the
    client for its body (`100 Continue`).
    """

    __slots__ = (
        "attempt",
        "body",
        "headers",
        "id",
        "keep_alive",
        "method",
        "peer",
        "target",
        "task",
        "version",
    )

    def __init__(
        self,
        head: RawRequestMessage,
        body: StreamReader,
        client: Client,
        task: "asyncio.Task[None]",
    ) -> None:
        self.method = head.method
        self.target = head.path.encode("utf-8", "surrogateescape")
        self.headers = Headers(head.raw_headers)
        self.id = _request_id_of(self.headers)
        self.version = head.version
        self.keep_alive = self.version is HttpVersion11 and not head.should_close
        self.body = body
        self.peer = client.peer
        self.task = task
        self.attempt = client

    @property
    def path(self) -> bytes:
        """Target without its query."""
        return self.target.partition(b"?")[0]

    def invite(self) -> None:
        """Asks the client for the body."""
        self.attempt.invite()

    @property
    def awaits_invitation(self) -> bool:
        """Tests whether the client sends its body only if asked to (RFC 9110, section 10.1.1)."""
        expectation = self.headers.get(b"expect")
        return (
            expectation is not None
            and expectation.lower() == b"100-continue"
            and self.version == HttpVersion11
        )

    def arrived_body(self, max_bytes: int) -> bytes:
        """Returns a body that has arrived whole. Raises BadRequest or BodyTooLarge."""
        if self.body is EMPTY_PAYLOAD:
            self.check_declared_length(max_bytes)  # the parser takes the largest possible length for no body
            return b""
        try:
            body = self.body.read_nowait()
        except BrokenBody:
            raise BadRequest(BROKEN_BODY) from None
        if len(body) > max_bytes:
            raise BodyTooLarge(f"{len(body)} bytes", max_bytes)
        return body

    def check_declared_length(self, max_bytes: int) -> None:
        """Raises BodyTooLarge for a declared length that is too large."""
        declared = self.headers.get(b"content-length")
        if declared is not None and int(declared) > max_bytes:
            raise BodyTooLarge(f"{int(declared)} bytes", max_bytes)


class Response(Struct, frozen=True, gc=False):
    """An answer, and its effect on the connection.

    `closes` ends the connection; then `on_read` is called if the client has read the response
    (`Sender.was_acknowledged` explains how that is known).
    """

    answer: Answer
    closes: bool = False
    on_read: Callable[[], object] | None = None


Handler = Callable[[Request], Awaitable[Response]]


def _new_request_id() -> str:
    """Returns 24 hex digits; an id must be rare, not secret."""
    return getrandbits(96).to_bytes(12).hex()


def _request_id_of(headers: Headers) -> str:
    own = headers.get(_REQUEST_ID)
    if own is None or _REQUEST_ID in headers.repeated or not _OWN_ID.fullmatch(own):
        return _new_request_id()
    return own.decode()


def encode_response(
    request: Request, answer: Answer, now_seconds: int, *, keep_alive: bool
) -> tuple[bytes, bytes]:
    """Encodes the response to a request, without its body for HEAD.

    The second piece is empty unless the body is large, like that of a scrape: a copy of megabytes blocks the
    event loop for milliseconds.
    """
    body = answer.body if request.method != "HEAD" else b""
    head = _head(answer, request.id, now_seconds, keep_alive=keep_alive)
    return (head + body, b"") if len(body) < _LARGE_BYTES else (head, body)


def encode_refusal(refusal: Refusal, now_seconds: int) -> bytes:
    """Encodes the response to input that is not a request, or cannot be served; it ends the connection."""
    answer = refuse(refusal)
    return _head(answer, _new_request_id(), now_seconds, keep_alive=False) + answer.body


def _head(answer: Answer, request_id: str, now_seconds: int, *, keep_alive: bool) -> bytes:
    start = _start(answer.status, answer.content_type, len(answer.body), now_seconds)
    fields = "".join([f"{name}: {value}\r\n" for name, value in answer.fields]) if answer.fields else ""
    end = "" if keep_alive else "Connection: close\r\n"
    return f"{start}x-request-id: {request_id}\r\n{fields}{end}\r\n".encode()


@lru_cache(8)
def _http_date(now_seconds: int) -> str:
    return formatdate(now_seconds, usegmt=True)


@lru_cache(1024)
def _start(status: int, content_type: str, content_length: int, now_seconds: int) -> str:
    """Returns the first lines, which many responses of one second share."""
    content = f"Content-Type: {content_type}\r\nContent-Length: {content_length}\r\n"
    return (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"{content if status not in _WITHOUT_CONTENT else ''}"
        f"Date: {_http_date(now_seconds)}\r\n"
    )
