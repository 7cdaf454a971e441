"""What is read of a request beside its head: its body."""

import asyncio

from aiohttp import HttpVersion11, StreamReader, web
from aiohttp.streams import EMPTY_PAYLOAD

from gateway.domain.errors import BadRequest, BodyTooLarge, RequestTimeout
from gateway.http.messages import HttpRequest

_MOST_PIECES = 64


async def read_body(request: HttpRequest, max_bytes: int, max_seconds: float) -> bytes:
    """The body as it was sent. A declared length that is too large is refused before a byte is read."""
    if request.content.is_eof():
        return arrived_body(request, max_bytes)
    _check_declared_length(request, max_bytes)
    _invite(request)
    try:
        async with asyncio.timeout(max_seconds):
            return await _read_slowly(request.content, max_bytes)
    except TimeoutError:
        raise RequestTimeout from None
    except (web.RequestPayloadError, OSError):  # of TLS, too
        raise BadRequest from None


def _check_declared_length(request: HttpRequest, max_bytes: int) -> None:
    """Raise BodyTooLarge if Content-Length says so."""
    declared = request.headers.get(b"content-length")
    if declared is not None and int(declared) > max_bytes:
        raise BodyTooLarge


def arrived_body(request: HttpRequest, max_bytes: int) -> bytes:
    """A body that is there. Reading it the public way would run the parser again for every request."""
    content = request.content
    if content is EMPTY_PAYLOAD:
        _check_declared_length(request, max_bytes)  # the parser shows the largest length of all as no body
        return b""
    if content.exception() is not None:
        raise BadRequest
    body = b"".join(content._buffer)  # noqa: SLF001
    if len(body) > max_bytes:
        raise BodyTooLarge
    return body


def _invite(request: HttpRequest) -> None:
    """Answer `Expect: 100-continue`: everything that can be refused without the body was not."""
    expectation = request.headers.get(b"expect")
    transport = request.protocol.transport
    if expectation is None or expectation.lower() != b"100-continue" or request.version < HttpVersion11:
        return
    if transport is not None:
        transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def _read_slowly(content: StreamReader, max_bytes: int) -> bytes:
    """The pieces stay as they came: a buffer that grows would take twice as much meanwhile."""
    pieces, size = [], 0
    while piece := await content.readany():
        pieces.append(piece)
        if len(pieces) == _MOST_PIECES:
            pieces = [b"".join(pieces)]
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLarge
    return b"".join(pieces)
