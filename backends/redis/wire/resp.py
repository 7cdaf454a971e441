"""The reader of replies in RESP2, within bounds (D139).

A server, or whatever answers in its place, must not be able to block the event loop or fill the memory.
hiredis allocates as many elements as an array announces: `*2000000000` costs 3.6 s of CPU, and its Python
package has no setting that bounds it. So replies are read here, although that costs about 0.5 µs more per
reply.
"""

import re
from collections.abc import Iterator
from typing import Any


class ErrorReply(Exception):
    """An error reply as the server sent it; its text may quote keys and values."""


Reply = Any
"""A decoded reply: None, int, bytes, `ErrorReply`, or a list of these."""

LONGEST_LINE_BYTES = 16_384
LARGEST_REPLY_BYTES = 64 * 1024 * 1024
"""Bound on the lines and strings of one reply. The largest expected reply is a page of directory records."""

MOST_ELEMENTS = 100_000
"""Bound on the elements of one reply, at all depths. A cluster map of thousands of ranges stays below it."""

DEEPEST = 8

_END = b"\r\n"
_KINDS = _STATUS, _ERROR, _INTEGER, _STRING, _ARRAY = b"+-:$*"
_LONGEST_NUMBER = 20
_OPEN = object()
"""Returned instead of a value while an array or a string is incomplete."""

_INTEGER_LINE = rb":([0-9]{1,18})\r\n"
usual_reply = re.compile(
    rb"(?:\*3\r\n" + _INTEGER_LINE * 2 + rb")?(?:" + _INTEGER_LINE + rb"|\$([0-9]{1,7})\r\n)|\+OK\r\n"
).match
"""Matches the replies of the request path in one step instead of one per line: the reply to a charge (three
integers), to a step (two integers and the head of a string), to a write (an integer or OK), the head of a
string."""


class NotResp(Exception):
    """Bytes that are not RESP2, or a reply beyond the bounds."""


class ReplyReader:
    """Cuts the bytes of one connection into replies, in time linear in the bytes received.

    Memory follows what was received, never what was announced. An announcement beyond the bounds is refused
    before its data arrive. An incomplete string is not scanned again before all of it has arrived, so that
    a large value in many small pieces does not cost quadratic time.
    """

    def __init__(self) -> None:
        self._parts: list[
            bytes
        ] = []  # received and not yet read: `_size` bytes, which are read once there are `_needed`
        self._size = self._needed = 0
        self._arrays: list[tuple[list[Reply], int]] = []  # incomplete, outermost first, with announced sizes
        self._elements = self._bytes = 0  # of the reply being read

    def feed(self, data: bytes) -> Iterator[Reply]:
        """Yields the replies that are complete now; must be consumed to the end. Raises NotResp."""
        if self._parts:
            self._parts.append(data)
            self._size += len(data)
            if self._size < self._needed:
                return
            data = b"".join(self._parts)
            self._parts.clear()
        at = 0
        while at < len(data):
            # Inside an array every element goes through `_next`, which counts it against the bounds.
            if not self._arrays and (found := usual_reply(data, at)) is not None:
                value, end = _usual(found, data)
                if end:
                    at = end
                    yield value
                    continue
            value, end = self._next(data, at)
            if not end:
                return
            at = end
            if self._arrays:
                value = self._completed(value)
            if value is not _OPEN:
                self._elements = self._bytes = 0
                yield value

    def _next(self, data: bytes, at: int) -> tuple[Reply, int]:
        """Returns the value that begins at `at` and its end; the end is 0 if it is incomplete."""
        line_end = data.find(_END, at)
        if line_end < 0:
            if data[at] not in _KINDS or len(data) - at > LONGEST_LINE_BYTES:
                raise NotResp
            return self._keep(data[at:], 0)
        kind, line, end = data[at], data[at + 1 : line_end], line_end + 2
        if kind == _ARRAY:
            return self._begun(line), end
        if kind != _STRING:
            self._bytes += len(line)
            if self._bytes > LARGEST_REPLY_BYTES:
                raise NotResp
            return _simple(kind, line), end
        length = _announced(line)
        if length < 0:
            return None, end
        if self._bytes + length > LARGEST_REPLY_BYTES:
            raise NotResp
        start, end = end, end + length
        if end + 2 > len(data):
            return self._keep(data[at:], end + 2 - at)
        if data[end : end + 2] != _END:
            raise NotResp
        self._bytes += length
        return data[start:end], end + 2

    def _keep(self, rest: bytes, needed: int) -> tuple[Reply, int]:
        """Keeps `rest` until it has grown to `needed` bytes; then it is read again."""
        self._parts.append(rest)
        self._size, self._needed = len(rest), needed
        return _OPEN, 0

    def _begun(self, line: bytes) -> Reply:
        """Opens an array; returns it if it is empty or null."""
        size = _announced(line)
        if size <= 0:
            return None if size else []
        self._elements += size
        if self._elements > MOST_ELEMENTS or len(self._arrays) == DEEPEST:
            raise NotResp
        self._arrays.append(([], size))
        return _OPEN

    def _completed(self, value: Reply) -> Reply:
        """Adds `value` to the innermost open array; returns the outermost one if that completes it."""
        while value is not _OPEN and self._arrays:
            array, size = self._arrays[-1]
            array.append(value)
            if len(array) < size:
                return _OPEN
            self._arrays.pop()
            value = array
        return value


def _usual(found: re.Match[bytes], data: bytes) -> tuple[Reply, int]:
    """Returns the reply that begins with what was found, and its end; the end is 0 if it is incomplete."""
    first, second, third, length = found.groups()
    start = end = found.end()
    if length is None:
        if first is None:
            return b"OK" if third is None else int(third), end
        return [int(first), int(second), int(third)], end
    end += int(length)
    if data[end : end + 2] != _END:
        return None, 0
    text = data[start:end]
    return text if first is None else [int(first), int(second), text], end + 2


def _simple(kind: int, line: bytes) -> Reply:
    if kind == _INTEGER:
        return _whole(line)
    if kind == _STATUS:
        return line
    if kind == _ERROR:
        return ErrorReply(line.decode(errors="replace"))
    raise NotResp


def _announced(line: bytes) -> int:
    """Returns the announced size; -1 announces a null."""
    size = _whole(line)
    if size < -1:
        raise NotResp
    return size


def _whole(line: bytes) -> int:
    digits = line[1:] if line[:1] == b"-" else line
    if not digits.isdigit() or len(digits) > _LONGEST_NUMBER:
        raise NotResp
    return int(line)
