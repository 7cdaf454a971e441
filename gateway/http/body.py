"""Reads bodies that are still on their way, within bounds of size, time and number."""

import asyncio

from aiohttp import StreamReader

from gateway.domain.errors import BadRequest, BodyTooLarge, RequestTimeout
from gateway.http.messages import BROKEN_BODY, Request
from gateway.http.receiving import BrokenBody

_MAX_PIECES = 64


class BodySlots:
    """Slots for bodies on their way, at most `max_bodies` (D150).

    When all are taken, the body that has been on its way longest is cut off to make room.
    """

    def __init__(self, max_bodies: int) -> None:
        self._max_bodies = max_bodies
        self._taken: dict[asyncio.Timeout, None] = {}

    def take(self, deadline: asyncio.Timeout) -> None:
        """Takes a slot for a body with this deadline."""
        if len(self._taken) >= self._max_bodies:
            self.cut_slowest()
        self._taken[deadline] = None

    def give_back(self, deadline: asyncio.Timeout) -> None:
        """Gives the slot back: the body has arrived, or was given up."""
        self._taken.pop(deadline, None)

    def cut_slowest(self) -> bool:
        """Ends the deadline of the oldest body now. Returns False if there is none."""
        for deadline in self._taken:
            del self._taken[deadline]
            if not deadline.expired():
                deadline.reschedule(0.0)
            return True
        return False


async def read_body(request: Request, max_bytes: int, max_seconds: float, slots: BodySlots) -> bytes:
    """Reads a body. A declared length that is too large is refused before a byte is read.

    Raises BadRequest, BodyTooLarge or RequestTimeout.
    """
    if request.body.is_eof():
        return request.arrived_body(max_bytes)
    request.check_declared_length(max_bytes)
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
        raise BadRequest(BROKEN_BODY) from None


async def _read_pieces(stream: StreamReader, max_bytes: int) -> bytes:
    """Keeps the pieces as they came: a buffer that grows would take twice as much meanwhile."""
    pieces, size = [], 0
    while piece := await stream.readany():
        pieces.append(piece)
        if len(pieces) == _MAX_PIECES:
            pieces = [b"".join(pieces)]
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLarge(f"more than {max_bytes} bytes", max_bytes)
        if stream.at_eof():
            break
    broken = stream.exception()
    if broken is not None:  # the end of a chunk woke the reader, before the error did
        raise broken
    return b"".join(pieces)
