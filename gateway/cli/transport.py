"""One HTTP request and its response, bounded in bytes and in time, whatever the server sends.

Servers are called directly: a proxy, or the target of a redirect, would receive the token. Name resolution is
outside the deadline, because the system's resolver has limits of its own.
"""

import io
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

_PIECE_BYTES = 65_536
_HEAD_BYTES = 65_536
"""Largest head, informational responses included."""


class UnusableResponse(Exception):
    """The server sent no usable HTTP response. The text is a predicate and quotes nothing of the response."""


class ResponseTooLarge(UnusableResponse):
    """The server sent more bytes than the caller allows."""


class Deadline:
    """The deadline of a whole call, whatever the number of pieces in which its response arrives."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._ends_at = clock() + seconds

    def left_seconds(self) -> float:
        """Returns the time left, always positive. Raises TimeoutError."""
        left = self._ends_at - self._clock()
        if left <= 0:
            raise TimeoutError(f"no complete response within {self.seconds:.0f} s")
        return left


class Request(Struct, frozen=True):
    """A request without its connection; `url` is absolute, in printable ASCII."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


class Response(Struct, frozen=True):
    """A final response with its whole body."""

    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def send(request: Request, deadline: Deadline, *, max_bytes: int) -> Response:
    """Sends the request and returns the response. Raises UnusableResponse, and OSError if there is none."""
    url = urlsplit(request.url)
    try:
        with _connect(url, deadline) as connection:
            return _receive(request, url, _Bounded(connection, deadline), max_bytes)
    except OSError:
        raise
    except (HTTPException, ValueError, OverflowError):
        raise UnusableResponse("does not answer in HTTP") from None


def _receive(request: Request, url: SplitResult, bounded: "_Bounded", max_bytes: int) -> Response:
    client = HTTPConnection(url.hostname or "")
    client.response_class = _FinalResponse
    client.sock = bounded
    target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    own = {"Host": url.netloc, "Accept": "application/json", "Connection": "close"}
    client.request(request.method, target, request.body, {**own, **request.headers})
    body = bytearray()
    with client.getresponse() as response:
        bounded.left_bytes += max_bytes
        bounded.is_body = True
        while piece := response.read(_PIECE_BYTES):  # a piece: an announced length would be allocated whole
            body += piece
        if response.length:
            raise IncompleteRead(b"")
        return Response(response.status, response.headers, bytes(body))


def _connect(url: SplitResult, deadline: Deadline) -> socket.socket:
    """Connects to the first address that accepts, with TLS for https. Raises OSError."""
    host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    failure = OSError("the name has no address")
    for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        try:
            connection = socket.create_connection((str(address[0]), port), deadline.left_seconds())
            break
        except OSError as error:
            failure = error
    else:
        raise failure
    if url.scheme != "https":
        return connection
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    try:
        connection.settimeout(deadline.left_seconds())
        return context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise


class _FinalResponse(HTTPResponse):
    """Skips informational responses, of which `http.client` skips 100 only (RFC 9110, 15.2)."""

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status < 200:
            self.headers = self.msg = None  # type: ignore[assignment]  # as before the first head
            super().begin()


class _Bounded(io.RawIOBase):
    """The socket of a connection of `http.client`. Each wait ends at the deadline, and all bytes are counted.

    A timeout of a real socket would start again with each byte.
    """

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self.left_bytes = _HEAD_BYTES
        self.is_body = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(self._deadline.left_seconds())
        count = self._connection.recv_into(buffer)
        self.left_bytes -= count
        if self.left_bytes < 0:
            raise (
                ResponseTooLarge("answers with a body that is too large")
                if self.is_body
                else UnusableResponse("answers with a head that is too large")
            )
        return count

    def sendall(self, data: bytes) -> None:
        """Sends everything within the deadline."""
        view = memoryview(data)
        while view:
            self._connection.settimeout(self._deadline.left_seconds())
            view = view[self._connection.send(view) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Returns the reader of the response."""
        return io.BufferedReader(self)

    def close(self) -> None:
        """Does nothing: `http.client` closes a connection before it reads the last response."""
