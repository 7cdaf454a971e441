"""Connections of a stepped machine: its kernel receives while it is stopped, and keeps what was not taken.

`unread_bytes`, `has_left` and `silent_seconds` answer what the gateway asks a kernel about a connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from lab.simulation.stepped import Machine

LATENCY_SECONDS = 0.001

FIN, RST = object(), object()


class MachineEnd(asyncio.Transport):
    """The transport of a protocol on a machine. `on_sent` gets its bytes, or None at its end."""

    def __init__(
        self,
        machine: Machine,
        new_protocol: Callable[[], asyncio.Protocol],
        on_sent: Callable[[bytes | None], None],
    ) -> None:
        super().__init__()
        self._machine, self._new_protocol, self._on_sent = machine, new_protocol, on_sent
        self._kernel: deque[object] = deque()
        self._is_made = self._is_paused = self._is_waiting = False
        self._last_data_at = 0.0
        self._is_over = self.has_left = False

    def open(self) -> None:
        """Calls the protocol. A connection from outside waits in the backlog until then."""
        self._is_made = True
        self._protocol = self._new_protocol()
        self._protocol.connection_made(self)

    def arrive(self, item: object) -> None:
        """Lets the kernel receive bytes, FIN or RST."""
        self._kernel.append(item)
        if item in (FIN, RST):
            self.has_left = True
        else:
            self._last_data_at = self._machine.world.now
        self._offer()

    @property
    def unread_bytes(self) -> int:
        return sum(len(item) for item in self._kernel if isinstance(item, bytes))

    @property
    def silent_seconds(self) -> float:
        return self._machine.world.now - self._last_data_at

    def write(self, data: Any) -> None:
        if not self._is_over:
            self._on_sent(bytes(data))

    def write_eof(self) -> None:
        self._on_sent(None)

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._on_sent(None)
            self._machine.loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self._is_over

    def is_reading(self) -> bool:
        return not self._is_paused

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self._offer()

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "socket":
            return self
        return ("10.0.0.1", 1) if name == "peername" else default

    def setsockopt(self, *_: object) -> None:
        """Does nothing: what was sent has left."""

    def _offer(self) -> None:
        if self._kernel and not self._is_waiting:
            self._is_waiting = True
            self._machine.receive(self._take)

    def _take(self) -> None:
        """Takes one step in a turn: accepts the connection, or reads what there is up to its end."""
        self._is_waiting = False
        if self._is_over or self._is_paused:
            return
        if not self._is_made:
            self.open()
        elif self._kernel[0] is FIN:
            self._kernel.popleft()
            if not self._protocol.eof_received():
                self.close()
        elif self._kernel[0] is RST:
            self._kernel.popleft()
            self._is_over = True
            self._protocol.connection_lost(ConnectionResetError())
        else:
            data = b""
            while self._kernel and self._kernel[0] not in (FIN, RST):
                data += self._kernel.popleft()
            self._protocol.data_received(data)
        self._offer()
