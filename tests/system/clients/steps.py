"""The scripted server's reaction to one request: a step of a scenario."""

import asyncio
import json
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

PIECE = 65_536
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True)
class Step:
    """A whole answer, part of one, or none."""

    status: int | None = None
    headers: dict[str, str | None] = field(default_factory=dict)
    body: Any = None
    text: str | None = None
    filler_bytes: int | None = None
    chunked: bool = False
    body_bytes: int | None = None
    pause_seconds: float = 0
    raw: str | None = None
    keeps: bool = False
    informational: int = 0
    extra: str = ""
    reset: str | None = None
    close: str | None = None
    silent: bool = False

    @property
    def ends(self) -> bool:
        """True if the connection ends after this step."""
        return (
            (self.raw is not None and not self.keeps) or self.body_bytes is not None or self.close is not None
        )

    def pieces(self) -> Iterator[bytes]:
        """Yields the bytes to send; bytes that surround the answer are in one packet with it."""
        if self.informational or self.extra:
            before = CONTINUE * self.informational
            yield before + b"".join(self._pieces()) + self.extra.encode("latin-1")
        else:
            yield from self._pieces()

    def _pieces(self) -> Iterator[bytes]:
        if self.raw is not None:
            yield self.raw.encode("latin-1")
        elif self.status is not None:
            content = self._content()
            yield self._head(len(content))
            content = content[: self.body_bytes]
            for start in range(0, len(content), PIECE):
                piece = content[start : start + PIECE]
                yield b"%x\r\n%b\r\n" % (len(piece), piece) if self.chunked else piece
            if self.chunked and self.body_bytes is None:
                yield b"0\r\n\r\n"

    def _content(self) -> bytes:
        if self.filler_bytes is not None:
            return b'{"found":true,"expiresAt":null,"value":"%b"}' % (b"x" * self.filler_bytes)
        if self.text is not None:
            return self.text.encode()
        return b"" if self.body is None else json.dumps(self.body).encode()

    def _head(self, length: int) -> bytes:
        framing = ("Transfer-Encoding", "chunked") if self.chunked else ("Content-Length", str(length))
        given = {name.lower() for name in self.headers}
        usual = [] if "content-type" in given else [("Content-Type", "application/json")]
        sent = (
            [*usual, *self.headers.items()]
            if self.status == 204
            else [framing, *usual, *self.headers.items()]
        )
        lines = [
            f"HTTP/1.1 {self.status} Scripted",
            *(f"{name}: {value}" for name, value in sent if value is not None),
        ]
        return "\r\n".join([*lines, "", ""]).encode()


async def send(connection: socket.socket, step: Step) -> int:
    """Sends the answer; returns the number of bytes that the client accepted."""
    loop = asyncio.get_running_loop()
    sent = 0
    try:
        for piece in step.pieces():
            parts = [piece[n : n + 1] for n in range(len(piece))] if step.pause_seconds else [piece]
            for part in parts:
                await asyncio.sleep(step.pause_seconds)
                await loop.sock_sendall(connection, part)
                sent += len(part)
    except ConnectionError:
        pass  # a client may leave at any time: only its requests are judged
    return sent


def reset(connection: socket.socket) -> None:
    """Ends the connection with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
