"""Cuts packets into messages, so that each byte belongs to one of them.

aiohttp's parser alone decides where a message ends, but does not say where that was. It drops bytes behind an
`Upgrade`, takes the last trailer of a body for the first field of the next head, and accepts request lines
that RFC 9112 does not. So it never holds a byte of the next message: it is fed up to the next place where a
message may end, and no further. Such places are an empty line, and the end of a body of declared length.
"""

from collections.abc import Callable

from aiohttp import StreamReader
from aiohttp.http import HttpRequestParser, HttpVersion10, HttpVersion11, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD

Message = tuple[RawRequestMessage, StreamReader]
"""A head and the stream of its body, which may still be on its way."""

_START, _HEAD, _LENGTH, _CHUNKS, _OVER = range(5)
"""Phases: before a head, in it, in a body of known length, in one of chunks, and behind the last message."""

_EMPTY_LINE = b"\r\n\r\n"
_CR = 13
_VERSIONS = {HttpVersion10: b"1.0", HttpVersion11: b"1.1"}


class BadFraming(Exception):
    """The end of a message is not certain, or its request line is not one of HTTP/1."""


class Cutter:
    """Cuts the input of one connection. `body` is that of the message being received, else an empty one.

    `is_last` tells that no message follows: the last one said so, or bytes behind it may be of another
    protocol, like those of a tunnel behind a CONNECT. Bytes behind the last message are dropped unparsed.
    `rest` are bytes that wait for the next call.
    """

    __slots__ = ("_left", "_line", "_new_parser", "_parser", "_phase", "_upgrades", "body", "is_last", "rest")

    def __init__(self, new_parser: Callable[[], HttpRequestParser]) -> None:
        """Takes a factory of parsers that stop behind each message."""
        self._new_parser = new_parser
        self._parser = new_parser()
        self._phase = _START
        self._line = self.rest = b""
        self._left = 0
        self._upgrades = False
        self.body: StreamReader = EMPTY_PAYLOAD
        self.is_last = False

    @property
    def is_over(self) -> bool:
        """Tests whether the last message has ended."""
        return self._phase is _OVER

    @property
    def is_waiting(self) -> bool:
        """Tests whether bytes wait for room, and not for the rest of an empty line."""
        return self.rest not in (b"", b"\r")

    def stop(self) -> None:
        """Drops all that waits and all that comes."""
        self._phase, self.rest, self.body = _OVER, b"", EMPTY_PAYLOAD

    def cut(self, data: bytes, room: int) -> list[Message]:
        """Returns the messages whose heads end in `data`: at most `room`, and none behind an Upgrade.

        Raises BadFraming, or an exception of the parser: for some targets it is yarl's IndexError.

        Most packets are one message with a body, and are parsed in one piece. The first empty line and the
        size of the body show that no byte is left over. Otherwise the parser may hold one of the next
        message: it is replaced, and the packet is cut.
        """
        if self._phase is _START and not self.rest and data and data[0] > _CR:
            head_end = data.find(_EMPTY_LINE) + 4
            if 3 < head_end < len(data):
                messages: list[Message] = self._parser.feed_data(data)[0]
                if messages:
                    head, body = messages[0]
                    if not body.is_eof():
                        self._begin(messages[0], data)
                        return messages
                    if (
                        head_end + body.total_bytes == len(data)
                        and not (head.should_close or head.upgrade or head.chunked)
                        and data.startswith(b" HTTP/1.1\r\n", len(head.method) + len(head.path) + 1)
                    ):
                        return messages
                self._parser = self._new_parser()
        return self._cut(data, room)

    def _cut(self, data: bytes, room: int) -> list[Message]:
        data, self.rest = self.rest + data, b""
        messages: list[Message] = []
        at = 0
        while at < len(data) and self._phase is not _OVER:
            if self._phase is _START:
                if data.startswith(b"\r\n", at):  # an empty line before a request (RFC 9112, section 2.2)
                    at += 2
                    continue
                if len(messages) >= room or data[at:] == b"\r":
                    self.rest = data[at:]
                    break
                if data[at] <= _CR:
                    raise BadFraming
            end = self._end_of_piece(data, at)
            messages += self._feed(data[at:end])
            at = end
            if self._upgrades and self._phase is _START:
                self._upgrades = False
                self.rest = data[at:]
                break
        return messages

    def _end_of_piece(self, data: bytes, at: int) -> int:
        """Returns the next offset at which a message may end.

        An empty line may have begun in the packet before, so the first three bytes are pieces of their own.
        The last empty line of a head or of chunks has text right before it: it does not overlap another one.
        """
        if self._phase is _LENGTH:
            return min(at + self._left, len(data))
        if self._phase is not _START and at < 3:
            return at + 1
        found = data.find(_EMPTY_LINE, 0 if at == 3 else at)
        return len(data) if found < 0 else found + 4

    def _feed(self, piece: bytes) -> list[Message]:
        messages: list[Message] = self._parser.feed_data(piece)[0]
        if self._phase is _LENGTH or self._phase is _CHUNKS:
            self._left -= len(piece)
            if self._phase is _LENGTH and (self._left == 0) is not self.body.is_eof():
                raise BadFraming
            if self.body.is_eof():
                self._complete()
        elif messages:
            line, self._line = self._line + piece, b""
            self._begin(messages[0], line)
        elif piece.endswith(_EMPTY_LINE):
            raise BadFraming
        else:
            self._phase = _HEAD
            if b"\r\n" not in self._line:
                self._line += piece
        return messages

    def _begin(self, message: Message, start: bytes) -> None:
        """Takes a message whose head has ended; `start` begins with its request line. Raises BadFraming."""
        head, self.body = message
        version = _VERSIONS.get(head.version)
        if version is None or head.path is None:
            raise BadFraming
        line = (head.method.encode(), head.path.encode("utf-8", "surrogateescape"), version)
        if not start.startswith(b"%b %b HTTP/%b\r\n" % line):
            raise BadFraming
        length = head.headers.get("Content-Length")
        if head.chunked and (
            head.version != HttpVersion11 or head.headers["Transfer-Encoding"].lower() != "chunked"
        ):
            raise BadFraming
        self._upgrades = head.upgrade
        self._phase = _CHUNKS if head.chunked else _LENGTH
        self._left = int(length or 0) - self.body.total_bytes
        # the parser takes the largest possible length for no body, and CONNECT has none
        is_cut_short = self.body is EMPTY_PAYLOAD and self._left > 0
        self.is_last = (
            head.should_close or head.version != HttpVersion11 or head.method == "CONNECT" or is_cut_short
        )
        if self.body.is_eof():
            self._complete()

    def _complete(self) -> None:
        """Goes on behind a message. The parser would drop what follows an Upgrade, and may hold a trailer."""
        if self._phase is _CHUNKS or self._upgrades:
            self._parser = self._new_parser()
        self._phase = _OVER if self.is_last else _START
        self.body = EMPTY_PAYLOAD
