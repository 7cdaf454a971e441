"""The receiving side of a connection: bytes to messages, by aiohttp's parser (D125), and backpressure.

The cutter (`gateway.http.cutting`) gives the parser one message at a time; one packet may hold several. If
any part of a packet is not HTTP, the whole packet is refused.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from aiohttp.http import HttpRequestParser
from aiohttp.streams import EMPTY_PAYLOAD

from gateway.http.cutting import Cutter, Message
from gateway.http.state import DROPPED, ENDED, LAST, OPEN, Input

MAX_QUEUED = 32
"""Maximum number of pipelined messages parsed ahead. Then parsing stops, and the transport is paused."""

MAX_FRAMING_BYTES = 16_384
"""Bytes that may come without completing a head or advancing a body. aiohttp bounds each line of a
head and their number: one megabyte in all, two as the parser keeps it. Trailers have the same bounds."""

MAX_QUEUED_BYTES = 65_536
"""Bytes that are read ahead after the request being served, and at most one packet more."""

_BODY_BUFFER_BYTES = 65_536

_AHEAD, _BODY = 1, 2
"""Reasons to pause the transport: enough is parsed ahead, and the stream of a body is full."""


class BrokenBody(Exception):
    """A body that is framed wrongly, or stops before its end."""


class FramingTooLong(Exception):
    """A head, or the framing of a body, has no end."""


class Receiver:
    """Receives the messages of one connection.

    `queue` holds the messages that wait; a None there is a piece that is not HTTP. `input` says what may
    still come (`gateway.http.state`).

    At most `MAX_QUEUED` messages are parsed ahead, so a part of a packet may have to wait. Once there is room
    again, `parse_on` is called, which feeds no new bytes. The transport is paused for as long as there is a
    reason (`_paused_for`).

    aiohttp's streams of bodies take a Receiver for their protocol: they use `connected`, `pause_reading` and
    `resume_reading`.
    """

    __slots__ = (
        "_body_bytes",
        "_count",
        "_cutter",
        "_framing_bytes",
        "_loop",
        "_on_pause",
        "_parse_on",
        "_paused_for",
        "_read_ahead_bytes",
        "_transport",
        "input",
        "queue",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, parse_on: Callable[[], None], on_pause: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._parse_on = parse_on
        self._on_pause = on_pause
        self._transport: asyncio.Transport | None = None
        self._cutter = Cutter(self._new_parser)
        self.queue: list[Message | None] = []  # an empty deque takes 700 bytes more
        self.input: Input = OPEN
        self._count = 0
        self._body_bytes = self._framing_bytes = self._read_ahead_bytes = 0
        self._paused_for = 0

    def open(self, transport: asyncio.Transport) -> None:
        """Sets the transport that bytes will come from."""
        self._transport = transport

    def feed(self, data: bytes) -> bool:
        """Queues the messages whose heads end in `data`; returns whether any do. Raises FramingTooLong.

        Input that the parser refuses is the last, and is queued as a None: the requests before it are
        answered first, then it is refused, in the order in which they came.

        The bounds on bytes are kept here, because the parser has none: `_read_ahead_bytes` for those that
        come while a message waits or is served, and `_framing_bytes` for those that complete nothing.
        """
        if self.input is not OPEN and self.input is not LAST:
            return False
        cutter = self._cutter
        try:
            messages = cutter.cut(data, MAX_QUEUED - self._count)
        except Exception:
            self._end(DROPPED)
            self.queue.append(None)
            return True
        if self._count:
            self._read_ahead_bytes += len(data)
        if not messages:
            if data:
                self._bound_framing(len(data))
            if self._count > 1 or cutter.rest:
                self._pause_if_full()
            return False
        if cutter.is_last:
            self.input = max(self.input, LAST)
        self.queue.extend(messages)
        self._count += len(messages)
        self._framing_bytes = 0
        self._body_bytes = 0 if cutter.body is EMPTY_PAYLOAD else -1  # -1: its first bytes are progress
        if self._count > 1 or cutter.rest:
            self._pause_if_full()
        return True

    def free(self) -> None:
        """Makes room: a message was taken.

        Reading resumes at half of MAX_QUEUED, so that a long pipeline does not pause and resume at each
        message.
        """
        self._count -= 1
        if self._count <= 1:
            self._read_ahead_bytes = 0
        if (
            self._paused_for & _AHEAD
            and self._count <= MAX_QUEUED // 2
            and self._read_ahead_bytes <= MAX_QUEUED_BYTES
        ):
            self._paused_for &= ~_AHEAD
            self._parse_on()  # may fill the queue again
            self._resume()

    def end(self) -> None:
        """Ends the input: the client has closed its sending side."""
        self._end(ENDED)

    def lose(self) -> None:
        """Drops all that waits: the connection has ended."""
        self._transport = None
        self.queue.clear()
        self.end()

    @property
    def connected(self) -> bool:
        """Tests whether more may come."""
        return self._transport is not None

    def pause_reading(self) -> None:
        """Pauses the transport: the stream of a body has enough for now.

        Only the transport is paused. If aiohttp's parser were paused at the end of a chunk, it would stop in
        the next body, after the stream of this one had been emptied, and nothing would make it go on.
        """
        self._pause(_BODY)

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002 - aiohttp's
        """Resumes reading. A stream calls it at every read and at its end, whether or not it was full."""
        if self._paused_for & _BODY:
            self._paused_for &= ~_BODY
            self._resume()

    def _pause_if_full(self) -> None:
        is_ahead = self._count > 1 and self._read_ahead_bytes > MAX_QUEUED_BYTES
        if is_ahead or self._count >= MAX_QUEUED or self._cutter.is_waiting:
            self._pause(_AHEAD)

    def _pause(self, reason: int) -> None:
        self._paused_for |= reason
        if self._transport is not None:
            self._transport.pause_reading()
            self._on_pause()

    def _resume(self) -> None:
        if self._transport is not None and not self._paused_for:
            self._transport.resume_reading()

    def _end(self, end: Input) -> None:
        self.input = max(self.input, end)
        body = self._cutter.body
        self._cutter.stop()
        if not body.is_eof():  # its reader learns that no more of it will come
            body.set_exception(BrokenBody())
            body.feed_eof()

    def _bound_framing(self, size: int) -> None:
        body_bytes = self._cutter.body.total_bytes
        if body_bytes != self._body_bytes:
            self._body_bytes, self._framing_bytes = body_bytes, 0
            return
        if self._cutter.is_over:
            return
        self._framing_bytes += size
        if self._framing_bytes > MAX_FRAMING_BYTES:
            self._end(DROPPED)
            raise FramingTooLong

    def _new_parser(self) -> HttpRequestParser:
        """Returns a parser that stops after each message, because none is reported as consumed."""
        return HttpRequestParser(
            cast(Any, self),  # annotated as a class of aiohttp's
            self._loop,
            _BODY_BUFFER_BYTES,
            payload_exception=BrokenBody,
            auto_decompress=False,
            max_msg_queue_size=1,
        )
