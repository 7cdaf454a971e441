"""Connections of the synchronous client: those of urllib3, with a timeout for the whole answer.

A socket's timeout restarts with every byte, so a server that sends one byte per second could hold a caller
without end. Here `settimeout` sets the time at which reading ends.
"""

import io
import socket
import time
from http.client import HTTPException, HTTPResponse, parse_headers
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse as Response

_HEAD_BYTES = 32_768
"""Limit of a head with all informational ones before it; one buffer more may be read."""


class _Reader(io.RawIOBase):
    """The file of an answer: each read gets the time that is left, and a head only so many bytes."""

    def __init__(self, timed: "_TimedSocket", file: io.RawIOBase) -> None:
        self._timed = timed
        self._file = file
        self.head_bytes_left: int | None = None
        self.is_at_end = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.is_at_end:
            return None
        if self.head_bytes_left is not None and self.head_bytes_left <= 0:
            raise HTTPException("the head of the answer is too long")
        self._timed.allow_what_is_left()
        size: int | None = self._file.readinto(buffer)
        self._timed.has_ended |= size == 0
        if self.head_bytes_left is not None:
            self.head_bytes_left -= size or 0
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


class _TimedSocket:
    """A socket whose `settimeout` bounds the whole answer."""

    def __init__(self, connected: Any) -> None:
        self._connected = connected
        self._until: float | None = None
        self.has_ended = False
        self.has_surplus = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connected, name)

    def settimeout(self, seconds: float | None) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self._connected.settimeout(seconds)

    def allow_what_is_left(self) -> None:
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer did not arrive in time")
            self._connected.settimeout(left)

    def decrypted_bytes(self) -> int:
        """Counts the bytes that TLS has taken from the socket and nobody has read."""
        pending = getattr(self._connected, "pending", None)
        return pending() if pending is not None else 0

    def makefile(self, mode: str) -> io.BufferedReader:
        """Returns a file for reading, the only kind that http.client asks for."""
        if mode != "rb":
            raise ValueError(mode)
        file = _Reader(self, self._connected.makefile("rb", buffering=0))
        return _Buffered(file, self)


class _Buffered(io.BufferedReader):
    """The buffer of an answer; bytes that are in it when the answer ends belong to no answer."""

    def __init__(self, reader: _Reader, timed: _TimedSocket) -> None:
        super().__init__(reader)
        self.reader = reader
        self._timed = timed

    def close(self) -> None:
        self.reader.is_at_end = True
        self._timed.has_surplus |= not self.closed and bool(self.peek(1))
        super().close()


class _Head(HTTPResponse):
    """A response of http.client with three corrections.

    http.client takes any informational response but 100 for the final one; the final one would then answer
    the next request. It skips any number of 100. And urllib3 logs head lines that are no fields, in which a
    server may echo the token.
    """

    def begin(self) -> None:
        reader: _Reader = self.fp.reader  # type: ignore[attr-defined] # a `_Buffered`
        reader.head_bytes_left = _HEAD_BYTES
        super().begin()
        reader.head_bytes_left = None
        if self.msg.defects:
            raise HTTPException("malformed field in the head of the answer")

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc] # not in the stubs
            if not 100 <= status < 200 or status == 101:
                return version, status, reason
            parse_headers(self.fp)


class _Connection(HTTPConnection):
    response_class = _Head

    @property
    def is_connected(self) -> bool:
        """False if there are bytes after the last answer: they answer no request of this client."""
        return super().is_connected and not (self.sock.has_surplus or self.sock.decrypted_bytes())

    def connect(self) -> None:
        super().connect()
        self.sock: Any = _TimedSocket(self.sock)

    def getresponse(self) -> Response:  # type: ignore[override] # as in urllib3
        timed = self.sock
        response = super().getresponse()
        if timed.has_ended:
            response.close()
            raise ConnectionResetError("the head ended early, which http.client does not detect")
        return response


class _TlsConnection(_Connection, HTTPSConnection):
    """A connection over TLS: `connect` of HTTPSConnection runs first, then that of `_Connection`."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def open_pool(scheme: str, host: str, port: int | None, connections: int) -> HTTPConnectionPool:
    """Opens a pool that keeps `connections`; the transport never uses more."""
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    kind = _TlsPool if scheme == "https" else _Pool
    return kind(host, port, maxsize=connections, block=False, retries=False, socket_options=options)
