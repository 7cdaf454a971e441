"""The receiving side of a connection: bytes to messages, by aiohttp's parser (D125), and backpressure.

The parser is fed whole packets, and one packet may hold several messages. Where any of it is not HTTP, all
of it is refused.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from aiohttp import StreamReader
from aiohttp.http import HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD

Message = tuple[RawRequestMessage, StreamReader]
"""A head and the stream of its body, which may still be on its way."""

MAX_QUEUED = 32
"""Pipelined messages that are parsed ahead. Then the parser stops, and the transport is paused."""

MAX_FRAMING_BYTES = 16_384
"""What may come without completing a head or bringing a body forward. aiohttp bounds each line of a head and
their number: one megabyte in all, two as the parser keeps it. Trailers of chunks have the same bounds."""

MAX_QUEUED_BYTES = 65_536
"""Behind the request that is served, this much is read ahead, and at most one packet more."""

_BODY_BUFFER_BYTES = 65_536
_HEAD_END = b"\r\n\r\n"


class BrokenBody(Exception):
    """A body that is framed wrongly, or stops before its end."""


class Malformed(Exception):
    """What came is not HTTP."""


class FramingTooLong(Exception):
    """A head, or what frames a body, has no end."""


class Receiver:
    """Receives the messages of one connection.

    `queue` holds those that wait; a None there stands for what is not HTTP. Not all of a packet is parsed at
    once: no more than `MAX_QUEUED` messages ahead, and nothing behind an Upgrade before a message is freed.
    When there is room again, `parse_on` is called, to feed no bytes. `has_dropped`: bytes may be lost, so no
    message can follow.

    Of the protocol that streams of bodies expect they use `connected`, `pause_reading` and `resume_reading`.
    """

    __slots__ = (
        "_body",
        "_body_bytes",
        "_count",
        "_framing_bytes",
        "_is_full",
        "_is_held",
        "_kept_back",
        "_parse_on",
        "_parser",
        "_read_ahead_bytes",
        "_transport",
        "has_dropped",
        "queue",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, parse_on: Callable[[], None]) -> None:
        self._parser = HttpRequestParser(
            cast(Any, self),  # annotated as a class of aiohttp's
            loop,
            _BODY_BUFFER_BYTES,
            payload_exception=BrokenBody,
            auto_decompress=False,
            max_msg_queue_size=MAX_QUEUED,
        )
        self._parse_on = parse_on
        self._transport: asyncio.Transport | None = None
        self.queue: list[Message | None] = []  # an empty deque takes 700 bytes more
        self._count = 0
        self._body: StreamReader = EMPTY_PAYLOAD
        self._body_bytes = self._framing_bytes = self._read_ahead_bytes = 0
        self._kept_back = b""
        self._is_full = self._is_held = False
        self.has_dropped = False

    def open(self, transport: asyncio.Transport) -> None:
        """Bytes will come from this transport."""
        self._transport = transport

    def feed(self, data: bytes) -> bool:
        """Queue the messages whose heads end in `data`, if any do.

        Raises Malformed or FramingTooLong, after which nothing more may be fed.
        """
        if self._kept_back:
            data, self._kept_back = self._kept_back + data, b""
        is_in_body = not self._body.is_eof()
        try:
            messages, is_upgraded, rest = self._parser.feed_data(data)
        except Exception:  # for some targets it is yarl's IndexError
            self.end()
            raise Malformed from None
        if self._count:
            self._read_ahead_bytes += len(data)
        if not messages:
            if data:
                self._bound_framing(len(data))
            self._pause_if_full()
            return False
        if self.has_dropped:
            return False
        if is_upgraded:
            self._parser.set_upgraded(False)
            self._kept_back = rest
        elif messages[-1][0].upgrade:
            self._stop_behind_upgrade(messages, b"" if is_in_body else data)
        self.queue.extend(messages)
        self._count += len(messages)
        self._body = messages[-1][1]
        self._body_bytes, self._framing_bytes = self._body.total_bytes, 0
        self._pause_if_full()
        return True

    def free(self) -> None:
        """A message that was taken makes room. Its body must have ended, else the parser miscounts."""
        self._count -= 1
        self._parser.message_consumed()
        if self._body.is_eof():
            self._body = EMPTY_PAYLOAD  # an idle connection keeps nothing
        if self._count <= 1:
            self._read_ahead_bytes = 0
        if self._is_full and self._count <= MAX_QUEUED // 2 and self._read_ahead_bytes <= MAX_QUEUED_BYTES:
            self._is_full = False
            self._parse_on()
            self._resume()

    def end(self) -> None:
        """No more bytes are coming: the reader of a body that has not ended learns it."""
        if not self._body.is_eof():
            self._body.set_exception(BrokenBody())
            self._body.feed_eof()

    def lose(self) -> None:
        """The connection has ended: what waits is dropped."""
        self._transport = None
        self.queue.clear()
        self.end()

    @property
    def connected(self) -> bool:
        """Whether more may come."""
        return self._transport is not None

    def pause_reading(self) -> None:
        """A body's stream has enough for now.

        Only the transport is paused. Told at the end of a chunk, aiohttp's parser would stop in the next
        body, after this one's stream had been emptied, and nobody would make it go on.
        """
        self._is_held = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002 - aiohttp's
        """A body's stream has room. It says so at every read and at its end, whether or not it was full."""
        if self._is_held:
            self._is_held = False
            self._resume()

    def _pause_if_full(self) -> None:
        is_ahead = self._count > 1 and self._read_ahead_bytes > MAX_QUEUED_BYTES
        if (is_ahead or self._count >= MAX_QUEUED or self._kept_back) and self._transport is not None:
            self._is_full = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._transport is not None and not (self._is_full or self._is_held):
            self._transport.resume_reading()

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
