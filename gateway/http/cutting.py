"""Cuts packets into messages, so that each byte belongs to one of them.

aiohttp's parser alone decides where a message ends, but does not say where that was. It drops bytes after an
`Upgrade`, takes the last trailer of a body for the first field of the next head, and accepts request lines
that RFC 9112 does not. So it never holds a byte of the next message: it is fed up to the next offset at which
a message may end, and no further: after an empty line, or at the end of a body of declared length.
"""

import re
from collections.abc import Callable

from aiohttp import StreamReader
from aiohttp.hdrs import CONTENT_LENGTH, TRANSFER_ENCODING
from aiohttp.http import HttpRequestParser, HttpVersion10, HttpVersion11, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD

Message = tuple[RawRequestMessage, StreamReader]
"""A head and the stream of its body, which may still be on its way."""

_START, _HEAD, _LENGTH, _CHUNKS, _OVER = range(5)
"""Phases: before a head, in it, in a body of known length, in a chunked body, and after the last message."""

_EMPTY_LINE = b"\r\n\r\n"
_TEXT_AND_EMPTY_LINE = re.compile(rb"[^\r\n]\r\n\r\n")
_CR = 13
_HTTP_1_1 = b" HTTP/1.1\r\n"
_VERSION_BYTES = len(_HTTP_1_1)
_VERSIONS = {HttpVersion10: b" HTTP/1.0\r\n", HttpVersion11: _HTTP_1_1}


class BadFraming(Exception):
    """The end of a message is not certain, or its request line is not one of HTTP/1."""


class Cutter:
    """Cuts the input of one connection. `body` is that of the message being received, else an empty one.

    `is_last`: no message follows, because this one said so, or because the bytes after it may be of another
    protocol, like those of a tunnel after a CONNECT. Bytes after the last message are dropped unparsed.
    `rest` holds bytes for the next call.
    """

    __slots__ = ("_left", "_line", "_new_parser", "_parser", "_phase", "_upgrades", "body", "is_last", "rest")

    def __init__(self, new_parser: Callable[[], HttpRequestParser]) -> None:
        """Takes a factory of parsers that stop after each message."""
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
        """Tests whether `rest` waits for room, not for the rest of an empty line."""
        return self.rest not in (b"", b"\r")

    def stop(self) -> None:
        """Drops the bytes that wait, and all later ones."""
        self._phase, self.rest, self.body = _OVER, b"", EMPTY_PAYLOAD

    def cut(self, data: bytes, room: int) -> list[Message]:
        """Returns the messages whose heads end in `data`: at most `room`, and none after an Upgrade.

        Raises BadFraming, or an exception of the parser: for some targets it is yarl's IndexError.

        Most packets are one message with a body, or a part of one, and are parsed in one piece. If the parser
        may hold a byte of the next message then, it is replaced, and the packet is cut.
        """
        if self._phase is _START and not self.rest and data and data[0] > _CR:
            messages: list[Message] = self._parser.feed_data(data)[0]
            if not messages:
                self._phase, self._line = _HEAD, data
                return []
            head, body = messages[0]
            if not body.is_eof() or (body is EMPTY_PAYLOAD and data.find(_EMPTY_LINE) + 4 == len(data)):
                self._begin(messages[0], data)
                return messages
            if (
                data[-1] > _CR  # else it may be one that the parser skips
                and body is not EMPTY_PAYLOAD
                and not (head.should_close or head.upgrade or TRANSFER_ENCODING in head.headers)
                and data[(at := len(head.method) + len(head.path) + 1) : at + _VERSION_BYTES] == _HTTP_1_1
            ):
                try:  # does the parser hold a message, or a part of a head?
                    if not self._parser.feed_data(b"")[0] and self._parser.feed_eof() is None:
                        return messages
                except Exception:  # noqa: S110 - it holds bytes that are not HTTP
                    pass
            self._parser = self._new_parser()
        elif self._phase is _LENGTH and len(data) <= self._left:
            self._parser.feed_data(data)
            self._left -= len(data)
            self._end_body()
            return []
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
            if self._phase is _CHUNKS and at >= 4:
                at = self._feed_chunks(data, at)
            else:
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

        The empty line after a head or chunks has text before it, so a flood of line ends is one piece. It may
        have begun in the previous packet, so the first four bytes are pieces of their own.
        """
        if self._phase is _LENGTH:
            return min(at + self._left, len(data))
        if self._phase is not _START and at < 4:
            return at + 1
        found = _TEXT_AND_EMPTY_LINE.search(data, 0 if at == 4 else at)
        return len(data) if found is None else found.end()

    def _feed(self, piece: bytes) -> list[Message]:
        messages: list[Message] = self._parser.feed_data(piece)[0]
        if self._phase is _LENGTH or self._phase is _CHUNKS:
            self._left -= len(piece)
            self._end_body()
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

    def _end_body(self) -> None:
        """Goes on behind the body if it is whole. Raises BadFraming if the parser counts otherwise."""
        is_whole = self.body.is_eof()
        if self._phase is _LENGTH and is_whole is not (self._left == 0):
            raise BadFraming
        if is_whole:
            self._complete()

    def _feed_chunks(self, data: bytes, at: int) -> int:
        """Feeds chunks up to their end, which may contain many empty lines; returns the offset after it."""
        feed, is_whole = self._parser.feed_data, self.body.is_eof
        for found in _TEXT_AND_EMPTY_LINE.finditer(data, 0 if at == 4 else at):
            end = found.end()
            feed(data[at:end])
            at = end
            if is_whole():
                self._complete()
                return at
        self._feed(data[at:])
        return len(data)

    def _begin(self, message: Message, start: bytes) -> None:
        """Takes a message whose head has ended; `start` begins with its request line. Raises BadFraming."""
        head, body = message
        self.body = body
        method, path, upgrades, is_chunked = head.method, head.path, head.upgrade, head.chunked
        version = _HTTP_1_1 if head.version is HttpVersion11 else _VERSIONS.get(head.version)
        if version is None or path is None:
            raise BadFraming
        at = len(method) + len(path) + 1
        if start[at : at + _VERSION_BYTES] != version:  # the parser takes more spaces
            raise BadFraming
        self.is_last = head.should_close or version is not _HTTP_1_1 or (upgrades and method == "CONNECT")
        self._upgrades = upgrades
        if TRANSFER_ENCODING in head.headers:
            coding = head.headers[TRANSFER_ENCODING]  # the parser ignores it with an Upgrade, or if empty
            if version is not _HTTP_1_1 or not is_chunked or coding.lower() != "chunked":
                raise BadFraming
        if is_chunked:
            self._phase = _CHUNKS
        else:
            self._phase = _LENGTH
            self._left = int(head.headers.get(CONTENT_LENGTH) or 0) - body.total_bytes
            if self._left and body is EMPTY_PAYLOAD:  # the parser takes the largest length for no body
                self.is_last = True
        if body.is_eof():
            self._complete()

    def _complete(self) -> None:
        """Continues after a message. The parser would drop bytes after an Upgrade, and may hold a trailer."""
        if self._phase is _CHUNKS or self._upgrades:
            self._parser = self._new_parser()
        self._phase = _OVER if self.is_last else _START
        self.body = EMPTY_PAYLOAD
