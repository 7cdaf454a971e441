"""A request's body, read within its bounds."""

import asyncio

from aiohttp import StreamReader
from aiohttp.streams import EMPTY_PAYLOAD

from gateway.domain.errors import BadRequest, BodyTooLarge, RequestTimeout
from gateway.http.messages import Request
from gateway.http.receiving import BrokenBody

_MOST_PIECES = 64
_BROKEN = "body: its framing is wrong, or it ended early"


def arrived_body(request: Request, max_bytes: int) -> bytes:
    """A body that is there already. Raises BadRequest or BodyTooLarge."""
    stream = request.body
    if stream is EMPTY_PAYLOAD:
        _check_declared_length(request, max_bytes)  # the parser shows the largest length of all as no body
        return b""
    try:
        body = stream.read_nowait()
    except BrokenBody:
        raise BadRequest(_BROKEN) from None
    if len(body) > max_bytes:
        raise BodyTooLarge(f"{len(body)} bytes", max_bytes)
    return body


class BodySlots:
    """Bodies on their way, at most `most`: where there is no room for another, the slowest is cut (D151).

    That is the one which has been on its way for longest.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[asyncio.Timeout, None] = {}

    def take(self, deadline: asyncio.Timeout) -> None:
        """A body is on its way, until its deadline."""
        if len(self._taken) >= self._most:
            self.cut_slowest()
        self._taken[deadline] = None

    def give_back(self, deadline: asyncio.Timeout) -> None:
        """The body is there, or was given up."""
        self._taken.pop(deadline, None)

    def cut_slowest(self) -> bool:
        """Let the slowest be late at once; False if there is none."""
        for deadline in self._taken:
            del self._taken[deadline]
            if not deadline.expired():
                deadline.reschedule(0.0)
            return True
        return False


async def read_body(request: Request, max_bytes: int, max_seconds: float, slots: BodySlots) -> bytes:
    """The body as it was sent. A declared length that is too large is refused before a byte is read (D2).

    Raises BadRequest, BodyTooLarge or RequestTimeout.
    """
    if request.body.is_eof():
        return arrived_body(request, max_bytes)
    _check_declared_length(request, max_bytes)
    if request.awaits_invitation:
        request.invite()
    try:
        async with asyncio.timeout(max_seconds) as deadline:
            slots.take(deadline)
            try:
                return await _read_pieces(request.body, max_bytes)
            finally:
                slots.give_back(deadline)
    except TimeoutError:
        raise RequestTimeout(f"the body did not arrive in time, at most {max_seconds:g} s") from None
    except BrokenBody:
        raise BadRequest(_BROKEN) from None


def _check_declared_length(request: Request, max_bytes: int) -> None:
    declared = request.headers.get(b"content-length")
    if declared is not None and int(declared) > max_bytes:
        raise BodyTooLarge(f"{int(declared)} bytes", max_bytes)


async def _read_pieces(stream: StreamReader, max_bytes: int) -> bytes:
    """The pieces stay as they came: a buffer that grows would take twice as much meanwhile."""
    pieces, size = [], 0
    while piece := await stream.readany():
        pieces.append(piece)
        if len(pieces) == _MOST_PIECES:
            pieces = [b"".join(pieces)]
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLarge(f"more than {max_bytes} bytes", max_bytes)
    return b"".join(pieces)
