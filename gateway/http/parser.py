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
_HEAD_END = b"\r\n\r\n"


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
    Upgrade before a message is taken. `has_dropped`: bytes may be lost, so no message can follow.
    """

    __slots__ = ("_body", "_body_bytes", "_framing_bytes", "_kept_back", "_parser", "_queued", "has_dropped")

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
        if self._kept_back:
            data, self._kept_back = self._kept_back + data, b""
        is_in_body = not self._body.is_eof()
        try:
            messages, is_upgraded, rest = self._parser.feed_data(data)
        except HttpProcessingError:
            self.end()
            raise Malformed from None
        if messages:
            if self.has_dropped:
                return ()
            if is_upgraded:
                self._parser.set_upgraded(False)
                self._kept_back = rest
            elif messages[-1][0].upgrade:
                self._stop_behind_upgrade(messages, b"" if is_in_body else data)
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

    def _stop_behind_upgrade(self, messages: Sequence[Message], packet: bytes) -> None:
        """Keep back what follows the last message, which asks for an Upgrade that aiohttp does not know.

        The connection stays with HTTP (RFC 9110, section 7.8), but aiohttp drops what follows such a message
        in its packet. Where the end of the message cannot be told for certain, no other is taken.
        """
        end = _end_of(messages, packet)
        if end is None:
            self.has_dropped = True
        else:
            self._kept_back = packet[end:]

    def _bound_framing(self, size: int) -> None:
        if self._body.total_bytes != self._body_bytes:
            self._body_bytes = self._body.total_bytes
            self._framing_bytes = 0
            return
        self._framing_bytes += size
        if self._framing_bytes > MAX_FRAMING_BYTES:
            self.end()
            raise FramingTooLong


def _end_of(messages: Sequence[Message], packet: bytes) -> int | None:
    """Where the last of a packet's messages ends; None if that cannot be told.

    The first head ends with the packet's first empty line, unless a part of that line came with the packet
    before.
    """
    if packet[:1] in (b"", b"\r", b"\n"):
        return None
    end = 0
    for head, body in messages:
        if head.chunked or not body.is_eof():
            return None
        end = packet.find(_HEAD_END, end) + len(_HEAD_END) + body.total_bytes
    return end
