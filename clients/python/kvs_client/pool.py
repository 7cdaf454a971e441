"""Connections of the synchronous client: urllib3's, whose timeout holds for a whole answer.

A timeout of a socket counts from one byte to the next: a server that sends a byte a second holds a caller for
as long as it likes. Here the same call, `settimeout`, sets the instant at which reading ends.
"""

import io
import socket
import time
from http.client import HTTPException, HTTPResponse, parse_headers
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse as Response


class _Reader(io.RawIOBase):
    """The file that an answer is read from."""

    def __init__(self, timed: "_TimedSocket", file: io.RawIOBase) -> None:
        self._timed = timed
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._timed.allow_what_is_left()
        size: int | None = self._file.readinto(buffer)
        self._timed.has_ended |= size == 0
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


class _TimedSocket:
    """A socket on which `settimeout` says when the answer has to be read."""

    def __init__(self, connected: Any) -> None:
        self._connected = connected
        self._until: float | None = None
        self.has_ended = False

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

    def makefile(self, mode: str, buffering: int | None = None) -> io.BufferedReader:
        """For reading alone, as http.client asks for it."""
        if mode != "rb":
            raise ValueError(mode)
        file = _Reader(self, self._connected.makefile("rb", buffering=0))
        return io.BufferedReader(file, buffering or io.DEFAULT_BUFFER_SIZE)


class _Head(HTTPResponse):
    """http.client's response, without two habits of it.

    It takes any informational answer but 100 for the answer, whose own would then be that of the next
    request. And urllib3 writes the lines of a head that are no fields to the log: a server may have sent the
    token back in one.
    """

    def begin(self) -> None:
        super().begin()
        if self.msg.defects:
            raise HTTPException("a line of the head is no field")

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc] # not in the stubs
            if not 102 <= status < 200:
                return version, status, reason
            parse_headers(self.fp)


class _Connection(HTTPConnection):
    response_class = _Head

    def connect(self) -> None:
        super().connect()
        self.sock: Any = _TimedSocket(self.sock)

    def getresponse(self) -> Response:  # type: ignore[override] # as urllib3 has it
        timed = self.sock
        response = super().getresponse()
        if timed.has_ended:
            raise ConnectionResetError("half a head, which http.client takes for a whole one")
        return response


class _TlsConnection(_Connection, HTTPSConnection):
    """The same over TLS: `connect` of HTTPSConnection comes first, then the above."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def open_pool(scheme: str, host: str, port: int | None, connections: int) -> HTTPConnectionPool:
    """Keeps so many; whoever sends sees to it that no more are asked for."""
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    kind = _TlsPool if scheme == "https" else _Pool
    return kind(host, port, maxsize=connections, block=False, retries=False, socket_options=options)
