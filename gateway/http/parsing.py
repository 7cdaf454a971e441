"""Bytes to messages: aiohttp's parser, and the rules that it leaves to its owner.

The parser is fed whole packets, and one packet may hold several messages. Where any of it is not HTTP, all
of it is refused.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol, cast

from aiohttp import StreamReader
from aiohttp.http import HttpProcessingError, HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD

Message = tuple[RawRequestMessage, StreamReader]
"""A head and the stream of its body, which may still be on its way."""

MAX_QUEUED = 32
"""Pipelined messages that are parsed ahead. Then the parser stops and the transport is to be paused."""

MAX_FRAMING_BYTES = 16_384
"""What may come without completing a head or bringing a body forward. aiohttp bounds each line of a head and
their number: one megabyte in all, two as the parser keeps it. Trailers of chunks have the same bounds."""

_BODY_BUFFER_BYTES = 65_536


class BrokenBody(Exception):
    """A body that is framed wrongly, or stops before its end."""


class Malformed(Exception):
    """What came is not HTTP."""


class FramingTooLong(Exception):
    """A head, or what frames a body, has no end."""


class FlowControl(Protocol):
    """What the streams of bodies ask of their connection."""

    @property
    def connected(self) -> bool:
        """Whether more may come."""
        ...

    def pause_reading(self) -> None:
        """Enough is buffered for now."""
        ...

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - aiohttp's
        """There is room again; with `resume_parser`, what the parser has kept back is to be parsed."""
        ...


class MessageParser:
    """The parser of one connection.

    Not all of a packet is parsed at once: no more than `MAX_QUEUED` messages ahead, and nothing behind an
    Upgrade before its message is taken. `has_dropped`: bytes were lost, so no request can follow.
    """

    __slots__ = (
        "_body",
        "_body_bytes",
        "_framing_bytes",
        "_is_upgrade",
        "_kept_back",
        "_length",
        "_parser",
        "_queued",
        "has_dropped",
    )

    def __init__(self, flow: FlowControl, loop: asyncio.AbstractEventLoop) -> None:
        self._parser = HttpRequestParser(
            cast(Any, flow),  # annotated as aiohttp's protocol, of which streams use these three methods
            loop,
            _BODY_BUFFER_BYTES,
            payload_exception=BrokenBody,
            auto_decompress=False,
            max_msg_queue_size=MAX_QUEUED,
        )
        self._queued = 0
        self._body: StreamReader = EMPTY_PAYLOAD
        self._body_bytes = self._framing_bytes = 0
        self._is_upgrade = False
        self._length: int | None = None
        self._kept_back = b""
        self.has_dropped = False

    @property
    def is_full(self) -> bool:
        """Whether nothing more is parsed until a message is taken."""
        return self._queued >= MAX_QUEUED or bool(self._kept_back)

    @property
    def has_room(self) -> bool:
        """Whether enough was taken to parse on."""
        return self._queued <= MAX_QUEUED // 2

    def feed(self, data: bytes) -> Sequence[Message]:
        """The messages whose heads end in `data`. Raises Malformed or FramingTooLong; then no more is fed."""
        try:
            if self._kept_back or self._is_upgrade or b"pgrade" in data or b"PGRADE" in data:
                messages = self._feed_by_message(self._kept_back + data)
            else:
                messages, is_upgraded, rest = self._parser.feed_data(data)
                if messages and messages[-1][0].upgrade:
                    self._stop_behind_upgrade(rest, has_dropped=not is_upgraded)
        except HttpProcessingError:
            self.end()
            raise Malformed from None
        if messages:
            self._queued += len(messages)
            self._body = messages[-1][1]
            self._framing_bytes = 0
        elif data:
            self._bound_framing(len(data))
        return messages

    def take(self) -> None:
        """A message whose body has ended leaves the queue. Told before its end, the parser would miscount."""
        self._queued -= 1
        self._parser.message_consumed()
        if self._body.is_eof():
            self._body = EMPTY_PAYLOAD  # an idle connection keeps nothing

    def pause(self) -> None:
        """Keep back what follows of the body that is being parsed."""
        self._parser.pause_reading()

    def end(self) -> None:
        """No more bytes are coming: whoever reads a body that has not ended learns it."""
        if not self._body.is_eof():
            self._body.set_exception(BrokenBody())
            self._body.feed_eof()

    def _stop_behind_upgrade(self, rest: bytes, *, has_dropped: bool) -> None:
        """The connection stays with HTTP whatever an Upgrade asks for (RFC 9110, section 7.8).

        aiohttp hands over what follows an Upgrade to a protocol that it knows, and drops what follows
        another in the same packet. The usual spellings of that are parsed by message; behind others the
        connection ends.
        """
        if has_dropped:
            self.has_dropped = True
        else:
            self._parser.set_upgraded(False)
            self._kept_back = rest

    def _feed_by_message(self, data: bytes) -> Sequence[Message]:
        """Feed pieces that end where a message may end, and nothing behind an Upgrade."""
        messages: list[Message] = []
        start, self._kept_back = 0, b""
        while start < len(data) and self._queued + len(messages) < MAX_QUEUED:
            end = self._end_of_piece(data, start)
            found, is_upgraded, rest = self._parser.feed_data(data[start:end])
            start = end - len(rest)
            if is_upgraded:
                self._parser.set_upgraded(False)
            if found:
                messages += found
                self._body = found[-1][1]
                self._is_upgrade = found[-1][0].upgrade
                self._length = _declared_length(found[-1][0])
            if self._body.is_eof():
                self._length = None
                if self._is_upgrade:
                    self._is_upgrade = False
                    break
        self._kept_back = data[start:]
        return messages

    def _end_of_piece(self, data: bytes, start: int) -> int:
        """A body of declared length ends there; heads and chunks end with a line."""
        if self._length is not None:
            return start + self._length - self._body.total_bytes
        return data.find(b"\n", start) + 1 or len(data)

    def _bound_framing(self, size: int) -> None:
        if self._body.total_bytes != self._body_bytes:
            self._body_bytes = self._body.total_bytes
            self._framing_bytes = 0
            return
        self._framing_bytes += size
        if self._framing_bytes > MAX_FRAMING_BYTES:
            self.end()
            raise FramingTooLong


def _declared_length(head: RawRequestMessage) -> int | None:
    length = head.headers.get("Content-Length")
    return None if length is None else int(length)
