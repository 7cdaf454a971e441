"""A plain client on one connection, for gateways with `signature.mode` off: it shows how connections end."""

import json
import socket
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.config import TABLE_TOKEN
from tests.support.stopwatch import PATIENCE_SECONDS


class Connection:
    """Requests in pieces, and responses one by one; `buffer_bytes` is about what arrives unread."""

    def __init__(self, url: str, seconds: float = PATIENCE_SECONDS, buffer_bytes: int | None = None) -> None:
        address = urlsplit(url)
        self._socket = socket.create_connection((address.hostname, address.port), seconds)
        if buffer_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        self._received = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def call(self, operation: str = "get", **fields: Any) -> tuple[int, dict[str, str], Any]:
        head, body = request(operation, **fields)
        self.send(head + body)
        return self.response()

    def ask(self, path: str) -> tuple[int, dict[str, str], Any]:
        self.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return self.response()

    def response(self) -> tuple[int, dict[str, str], Any]:
        """Status, fields and body, decoded if it is JSON. Raises ConnectionError if something is missing."""
        status_line = self._line()
        fields = {}
        while line := self._line().strip():
            name, _, value = line.decode().partition(": ")
            fields[name.lower()] = value
        body = self._received.read(int(fields["content-length"]))
        if len(body) < int(fields["content-length"]):
            raise ConnectionError("closed within an answer")
        is_json = fields["content-type"] == "application/json"
        return int(status_line.split()[1]), fields, json.loads(body) if is_json else body

    def _line(self) -> bytes:
        line = self._received.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("closed without an answer")
        return line

    def has_answer(self) -> bool:
        """Wait for the first byte of one, and leave it where it is."""
        return self._socket.recv(1, socket.MSG_PEEK) != b""

    def is_closed_by_peer(self) -> bool:
        """Wait for the end of the connection; False if something else arrives."""
        try:
            return self._received.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._received.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def request(operation: str = "get", **fields: Any) -> tuple[bytes, bytes]:
    """Head and body of a call."""
    body = json.dumps({"key": "k", **fields}).encode()
    head = (
        f"POST /v1/{operation} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {TABLE_TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode(), body


def has_call_in_flight(ops: Connection) -> bool:
    """Whether the head of one, or more, was read."""
    return b"kvs_requests_in_flight 1.0" in ops.ask("/metrics/service")[2]


def is_listening(url: str) -> bool:
    """Whether a new connection is taken."""
    try:
        Connection(url, 1.0).close()
    except OSError:
        return False
    return True
