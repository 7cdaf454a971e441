"""A request's body, read within its bounds."""

import asyncio

from aiohttp import StreamReader
from aiohttp.streams import EMPTY_PAYLOAD

from gateway.domain.errors import BadRequest, BodyTooLarge, RequestTimeout
from gateway.http.messages import Request
from gateway.http.receiving import BrokenBody

_MOST_PIECES = 64


def arrived_body(request: Request, max_bytes: int) -> bytes:
    """A body that is there already. Raises BadRequest or BodyTooLarge."""
    stream = request.body
    if stream is EMPTY_PAYLOAD:
        _check_declared_length(request, max_bytes)  # the parser shows the largest length of all as no body
        return b""
    try:
        body = stream.read_nowait()
    except BrokenBody:
        raise BadRequest from None
    if len(body) > max_bytes:
        raise BodyTooLarge
    return body


async def read_body(request: Request, max_bytes: int, max_seconds: float) -> bytes:
    """The body as it was sent. A declared length that is too large is refused before a byte is read (D2).

    Raises BadRequest, BodyTooLarge or RequestTimeout.
    """
    if request.body.is_eof():
        return arrived_body(request, max_bytes)
    _check_declared_length(request, max_bytes)
    if request.awaits_invitation:
        request.invite()
    try:
        async with asyncio.timeout(max_seconds):
            return await _read_pieces(request.body, max_bytes)
    except TimeoutError:
        raise RequestTimeout from None
    except BrokenBody:
        raise BadRequest from None


def _check_declared_length(request: Request, max_bytes: int) -> None:
    declared = request.headers.get(b"content-length")
    if declared is not None and int(declared) > max_bytes:
        raise BodyTooLarge


async def _read_pieces(stream: StreamReader, max_bytes: int) -> bytes:
    """The pieces stay as they came: a buffer that grows would take twice as much meanwhile."""
    pieces, size = [], 0
    while piece := await stream.readany():
        pieces.append(piece)
        if len(pieces) == _MOST_PIECES:
            pieces = [b"".join(pieces)]
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLarge
    return b"".join(pieces)
