"""Connections of the gateway without a kernel: requests go in as bytes, answers are kept."""

import asyncio
from typing import Any

from backends.clock import SystemClock
from gateway.app import App
from gateway.domain.call import Call, Headers
from gateway.domain.model import Operation
from gateway.http.connection import Connection
from gateway.http.messages import Handler
from gateway.http.service import Service


class _Wire(asyncio.Transport):
    """Takes what is written, and wakes what waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.answered: asyncio.Future[None] | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written = bytes(data)
        if self.answered is not None and not self.answered.done():
            self.answered.set_result(None)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def is_closing(self) -> bool:
        return False

    def is_reading(self) -> bool:
        return True

    def pause_reading(self) -> None:
        """It never is ahead of its reader."""

    def resume_reading(self) -> None:
        """See above."""

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        """Nothing is open."""


class SilentConnection:
    """One connection, asked one thing at a time."""

    def __init__(self, protocol: Connection) -> None:
        self.protocol = protocol
        self._wire = _Wire()
        protocol.connection_made(self._wire)

    @property
    def written(self) -> bytes:
        """The last answer."""
        return self._wire.written

    async def answer_to(self, request: bytes) -> None:
        """Returns when it is written."""
        self._wire.answered = asyncio.get_running_loop().create_future()
        self.protocol.data_received(request)
        await self._wire.answered


def open_connection(app: App, handler: Handler) -> SilentConnection:
    """To be used in the loop that the app runs in."""
    service = Service(handler, app.reload.settings.edge, SystemClock())
    return SilentConnection(Connection(service))


def call_of(request: bytes, operation: Operation) -> Call:
    """The call that a request on the wire is."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    fields = [(name, value) for name, _, value in (line.partition(b":") for line in lines)]
    return Call(operation, first.split(b" ")[1], Headers(fields), body, "127.0.0.1")
