"""Replies in RESP2, within bounds (D139)."""

import re
from collections.abc import Iterator
from typing import Any

import hiredis

Reply = Any
"""None, int, bytes, `hiredis.ReplyError`, or a list of these."""

LONGEST_LINE_BYTES = 16_384
LARGEST_REPLY_BYTES = 64 * 1024 * 1024
"""Of all lines and strings in one reply. The largest that is expected is a page of 500 directory records."""

MOST_ELEMENTS = 100_000
"""In one reply, at all depths. The most that is expected is the map of a cluster in thousands of pieces."""

DEEPEST = 8

_END = b"\r\n"
_KINDS = _STATUS, _ERROR, _INTEGER, _STRING, _ARRAY = b"+-:$*"
_LONGEST_NUMBER = 20
_OPEN = object()

_INTEGER_LINE = rb":([0-9]{1,18})\r\n"
usual_reply = re.compile(rb"\*3\r\n" + _INTEGER_LINE * 3 + rb"|\+OK\r\n|\$([0-9]{1,7})\r\n").match
"""The reply to a charge, that to a write, the head of a string: read in one step instead of one per line."""


class NotResp(Exception):
    """What came is not RESP2, or more than any reply to this gateway can be."""


class ReplyReader:
    """Cuts the bytes of one connection into replies, in time that is linear in what has come.

    No room is made for what a server has announced and not sent, and what it may announce is bounded. A
    string is not looked at again before all of it is there.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = self._needed = 0
        self._arrays: list[tuple[list[Reply], int]] = []  # begun, from the outermost on, each with its size
        self._elements = self._bytes = 0  # of the reply that is read

    def feed(self, data: bytes) -> Iterator[Reply]:
        """The replies that are complete now, to be taken to the last one. Raises NotResp."""
        if self._parts:
            self._parts.append(data)
            self._size += len(data)
            if self._size < self._needed:
                return
            data = b"".join(self._parts)
            self._parts.clear()
        at = 0
        while at < len(data):
            if not self._arrays and (found := usual_reply(data, at)) is not None:
                if not found[4]:
                    at = found.end()
                    yield [int(found[1]), int(found[2]), int(found[3])] if found[1] else b"OK"
                    continue
                start, end = found.end(), found.end() + int(found[4])
                if data[end : end + 2] == _END:
                    at = end + 2
                    yield data[start:end]
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
        """What begins at `at`, and where it ends: at 0 if not all of it is there."""
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
        """`needed`: how many bytes there have to be, from the first of `rest` on, before it is looked at."""
        self._parts.append(rest)
        self._size, self._needed = len(rest), needed
        return _OPEN, 0

    def _begun(self, line: bytes) -> Reply:
        """An array that has no elements, or none that have come."""
        size = _announced(line)
        if size <= 0:
            return None if size else []
        self._elements += size
        if self._elements > MOST_ELEMENTS or len(self._arrays) == DEEPEST:
            raise NotResp
        self._arrays.append(([], size))
        return _OPEN

    def _completed(self, value: Reply) -> Reply:
        """The outermost array, if `value` is the last that it lacked."""
        while value is not _OPEN and self._arrays:
            array, size = self._arrays[-1]
            array.append(value)
            if len(array) < size:
                return _OPEN
            self._arrays.pop()
            value = array
        return value


def _simple(kind: int, line: bytes) -> Reply:
    if kind == _INTEGER:
        return _whole(line)
    if kind == _STATUS:
        return line
    if kind == _ERROR:
        return hiredis.ReplyError(line.decode(errors="replace"))
    raise NotResp


def _announced(line: bytes) -> int:
    """-1: there is no string, or no array."""
    size = _whole(line)
    if size < -1:
        raise NotResp
    return size


def _whole(line: bytes) -> int:
    digits = line[1:] if line[:1] == b"-" else line
    if not digits.isdigit() or len(digits) > _LONGEST_NUMBER:
        raise NotResp
    return int(line)
