"""Answers on the wire, the same for all three listeners."""

import asyncio
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol, cast

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from backends.clock import Clock
from gateway.answers import Answer, refuse
from gateway.config.settings import EdgeSettings
from gateway.edge.reading import request_ids
from gateway.errors import BadRequest, BodyTooLarge, Refusal, RequestTimeout
from gateway.headers import Headers

_NO_FIELDS = Headers(())

_BREAKING = frozenset({BadRequest.code, RequestTimeout.code, BodyTooLarge.code})
"""After these nobody knows where the next request begins."""


class Lingering(Protocol):
    """A connection that can wait for its client to read the last answer."""

    async def linger(self) -> None:
        """Drop what still comes."""
        ...


def encode_response(answer: Answer, request_id: str, now_seconds: int, *, keeps_alive: bool) -> bytes:
    """Head and body in one piece, so that they leave in one packet."""
    head = (
        f"HTTP/1.1 {answer.status} {_reason(answer.status)}\r\n"
        f"Content-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        f"Date: {_http_date(now_seconds)}\r\n"
        f"x-request-id: {request_id}\r\n"
    )
    for name, value in answer.fields:
        head += f"{name}: {value}\r\n"
    if not keeps_alive:
        head += "Connection: close\r\n"
    return f"{head}\r\n".encode() + answer.body


class WireResponse(web.StreamResponse):
    """A finished response: aiohttp's own would cost more than all policies together.

    A client that does not read it is cut off after `write_seconds`.
    """

    def __init__(self, wire: bytes, status: int, *, keeps_alive: bool, write_seconds: float) -> None:
        super().__init__(status=status)
        self.wire = wire
        self._keeps_alive = keeps_alive
        self._write_seconds = write_seconds

    @property
    def keep_alive(self) -> bool | None:
        return self._keeps_alive

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        transport.write(self.wire)
        if request.protocol.writing_paused:
            try:
                async with asyncio.timeout(self._write_seconds):
                    await request.protocol._drain_helper()  # noqa: SLF001 - aiohttp offers no other
            except TimeoutError:
                transport.abort()
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """All is written by `prepare`."""


class LastResponse(WireResponse):
    """A response to a request that is not read to its end: closing at once could reset it away."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        await super().prepare(request)
        await cast(Lingering, request.protocol).linger()
        return None


class Responder:
    """Puts the answers of one listener on the wire."""

    def __init__(self, settings: EdgeSettings, clock: Clock) -> None:
        self._write_seconds = settings.write_seconds
        self._clock = clock
        self.request_id = request_ids()
        self.draining = False

    def respond(self, request: web.BaseRequest, answer: Answer, request_id: str) -> web.StreamResponse:
        """The response to a request; what is left of its body, or a drain, ends the connection."""
        is_read = request.content.is_eof() and answer.code not in _BREAKING
        keeps_alive = is_read and request.keep_alive and not self.draining
        wire = self._encode(answer, request_id, keeps_alive=keeps_alive)
        if request.method == "HEAD":
            wire = wire[: len(wire) - len(answer.body)]
        kind = WireResponse if is_read else LastResponse
        return kind(wire, answer.status, keeps_alive=keeps_alive, write_seconds=self._write_seconds)

    def refuse_connection(self, refusal: Refusal) -> WireResponse:
        """The response to what is not a request; it ends the connection."""
        wire = self._encode(refuse(refusal), self.request_id(_NO_FIELDS), keeps_alive=False)
        return LastResponse(wire, refusal.status, keeps_alive=False, write_seconds=self._write_seconds)

    def _encode(self, answer: Answer, request_id: str, *, keeps_alive: bool) -> bytes:
        return encode_response(answer, request_id, self._clock.wall_ms() // 1000, keeps_alive=keeps_alive)


@lru_cache(8)
def _http_date(now_seconds: int) -> str:
    return formatdate(now_seconds, usegmt=True)


@lru_cache(64)
def _reason(status: int) -> str:
    return HTTPStatus(status).phrase
