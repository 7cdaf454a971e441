"""Connections between clients and a replica, in memory: in order, late, and cut at any moment."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

LATENCY_SECONDS = 0.001


class _Direction:
    """Runs callbacks a moment later, in order; timers of a loop for one moment have no order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Callable[[], None]] = deque()

    def carry(self, deed: Callable[[], None]) -> None:
        self._queue.append(deed)
        self._loop.call_later(LATENCY_SECONDS, self._do_next)

    def _do_next(self) -> None:
        self._queue.popleft()()


class ServerEnd(asyncio.Transport):
    """The transport of the gateway's protocol. `client` receives the bytes a moment later."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._held: list[bytes] | None = None
        self._there, self._back = _Direction(), _Direction()
        self.client = asyncio.StreamReader()
        self.is_over = False
        """Closed, aborted or cut: the protocol receives and sends nothing more."""
        self.last_delivery = -1.0
        """Time of the last request that the protocol received, if any."""
        protocol.connection_made(self)

    def send(self, data: bytes) -> None:
        """Sends bytes from the client."""
        self._there.carry(lambda: self._deliver(data))

    def leave(self) -> None:
        """Disconnects the client."""
        self._there.carry(self._end)

    def cut(self) -> None:
        """Cuts the connection of a crashed replica; unsent bytes are lost."""
        if not self.is_over:
            self.is_over = True
            self.client.set_exception(ConnectionResetError())
            self._protocol.connection_lost(ConnectionResetError())

    def write(self, data: Any) -> None:
        if not self.is_over:
            sent = bytes(data)
            self._back.carry(lambda: self._tell(self.client.feed_data, sent))

    def write_eof(self) -> None:
        self._back.carry(lambda: self._tell(self.client.feed_eof))

    def close(self) -> None:
        if not self.is_over:
            self.write_eof()
            self._loop.call_soon(self._end)

    def abort(self) -> None:
        self.close()

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.is_over

    def is_reading(self) -> bool:
        return self._held is None

    def pause_reading(self) -> None:
        self._held = self._held or []

    def resume_reading(self) -> None:
        held, self._held = self._held or [], None
        for data in held:
            self._deliver(data)

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("10.0.0.1", 1) if name == "peername" else default

    def _deliver(self, data: bytes) -> None:
        if self.is_over:
            return
        if self._held is not None:
            self._held.append(data)
            return
        self.last_delivery = self._loop.time()
        self._protocol.data_received(data)

    def _tell(self, feed: Callable[..., None], *data: bytes) -> None:
        if self.client.exception() is None and not self.client._eof:
            feed(*data)

    def _end(self) -> None:
        if not self.is_over:
            self.is_over = True
            self._protocol.connection_lost(None)
