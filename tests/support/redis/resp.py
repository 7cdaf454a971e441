"""RESP2 for tests: encoding of commands, and a blocking reader that shares no code with the gateway's."""

from io import BytesIO
from typing import Any, BinaryIO

Part = str | bytes | int


class ErrorReply(Exception):
    """An error reply, with the text that the server sent."""


def encode(*parts: Part) -> bytes:
    words = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)])


def read(stream: BinaryIO) -> Any:
    """Reads one reply; an error reply is returned. Raises EOFError where the stream ends before the reply."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise EOFError
    kind, rest = line[:1], line[1:-2]
    match kind:
        case b"+":
            return rest
        case b"-":
            return ErrorReply(rest.decode())
        case b":":
            return int(rest)
        case b"$":
            return None if rest == b"-1" else _string(stream, int(rest))
        case b"*":
            return None if rest == b"-1" else [read(stream) for _ in range(int(rest))]
    raise ValueError(f"not RESP2: {line!r}")


def _string(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length + 2)
    if len(data) < length + 2:
        raise EOFError
    return data[:-2]


class CommandBuffer:
    """Cuts the bytes that a client sends into commands."""

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> list[list[bytes]]:
        """Returns the commands that are complete now."""
        self._data += data
        stream = BytesIO(self._data)
        commands = []
        at = 0
        while at < len(self._data):
            try:
                commands.append(read(stream))
            except EOFError:
                break
            at = stream.tell()
        self._data = self._data[at:]
        return commands
