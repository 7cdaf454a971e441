"""A link between a client and a server that can be slow, narrow, silent, cut or noisy."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Self

from tests.support.accepting import stop_accepting
from tests.support.evidence import note_fault

HOST = "127.0.0.1"
_NO_LINGER = struct.pack("ii", 1, 0)
_PIECE = 65_536


class Link:
    """Connect to `port` to reach the server; what is set holds for all connections, old and new.

    Times are in seconds. What a link holds back it delivers when it is open again.
    """

    def __init__(self, server_port: int) -> None:
        self.port = 0
        self.reply_delay = 0.0
        self.bytes_per_second: int | None = None
        """Rate of replies; None for no limit."""
        self.replies_left: int | None = None
        """Bytes of replies that still pass before the connection is closed; None: all do."""
        self.swallow_reply_to: Callable[[bytes], bool] | None = None
        """Swallows the reply to the next matching request, and resets its connection."""
        self.flips_left = 0
        """Pieces of replies that still come with one bit wrong."""
        self._server_port = server_port
        self._open = asyncio.Event()
        self._open.set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._swallowing: set[asyncio.StreamWriter] = set()
        self._carriers: set[asyncio.Task[None]] = set()

    @property
    def connections(self) -> int:
        return len(self._clients)

    def hold(self) -> None:
        """Drops everything silently."""
        note_fault("link silent")
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def say(self, data: bytes) -> None:
        """Put words into the server's mouth."""
        note_fault("link noisy")
        for client in self._clients:
            client.write(data)

    def flip_bits(self, pieces: int = 1) -> None:
        """The next pieces of replies, one of each connection at a time, have a bit wrong."""
        note_fault("bit flipped", pieces)
        self.flips_left += pieces

    def reset(self) -> None:
        """End all connections of now with RST."""
        note_fault("connections reset")
        for client in [client for client in self._clients if not client.is_closing()]:
            client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            client.transport.abort()

    def end_replies(self) -> None:
        """The server's half of all connections of now is closed; the client's half stays open."""
        note_fault("connections half-closed")
        for client in self._clients:
            if client.can_write_eof() and not client.is_closing():
                client.write_eof()

    def move_to(self, server_port: int) -> None:
        """From now on who connects reaches another server, as after a failover behind one name."""
        note_fault("server replaced")
        self._server_port = server_port

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._carry, HOST, 0)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_accepting(self._listener)
        for carrier in self._carriers:
            carrier.cancel()
        if self._carriers:
            await asyncio.wait(self._carriers)

    async def _carry(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        carrier = asyncio.current_task()
        self._carriers.add(carrier)
        self._clients.add(client)
        try:
            from_server, server = await asyncio.open_connection(HOST, self._server_port)
            try:
                await _first_to_end(
                    self._requests(reader, server, client), self._replies(from_server, client)
                )
            finally:
                server.transport.abort()
        except (OSError, asyncio.CancelledError):
            client.transport.abort()  # the callers see the end of the connection
        finally:
            client.close()
            self._clients.discard(client)
            self._swallowing.discard(client)
            self._carriers.discard(carrier)

    async def _requests(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(_PIECE):
            await self._open.wait()
            if self.swallow_reply_to is not None and self.swallow_reply_to(data):
                note_fault("reply swallowed")
                self.swallow_reply_to = None
                self._swallowing.add(client)
            server.write(data)
            await server.drain()

    async def _replies(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while data := await reader.read(_PIECE):
            await asyncio.sleep(self.reply_delay + self._seconds_for(data))
            await self._open.wait()
            if client in self._swallowing:
                client.transport.abort()
                return
            client.write(self._allowed(self._damaged(data)))
            await client.drain()
            if self.replies_left == 0:
                return

    def _seconds_for(self, data: bytes) -> float:
        return 0.0 if self.bytes_per_second is None else len(data) / self.bytes_per_second

    def _damaged(self, data: bytes) -> bytes:
        if not self.flips_left:
            return data
        self.flips_left -= 1
        return bytes([data[0] ^ 1]) + data[1:]

    def _allowed(self, data: bytes) -> bytes:
        if self.replies_left is None:
            return data
        data = data[: self.replies_left]
        self.replies_left -= len(data)
        return data


async def _first_to_end(*directions) -> None:
    tasks = [asyncio.ensure_future(direction) for direction in directions]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
