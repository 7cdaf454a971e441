"""The sending side of a connection: backpressure, and an end that loses nothing of the last response."""

import array
import asyncio
import fcntl
import socket
import termios

from gateway.http.deadline import Deadline

LINGER_SECONDS = 1.0
"""How long a connection that ends early still reads. Closed at once, with bytes of the client unread, it
would be reset by the kernel, and the client would lose a response that it has not read (RFC 9112, section
9.6; D67)."""

_LOOK_SECONDS = 0.05


class Sender:
    """Writes to one transport, and ends it. `deadline` is the connection's.

    `is_paused`: the client does not read as fast as it is written to.
    """

    __slots__ = (
        "_deadline",
        "_drained",
        "_gone",
        "_has_client_ended",
        "_is_broken",
        "_transport",
        "_write_seconds",
        "is_paused",
    )

    def __init__(self, transport: asyncio.Transport, deadline: Deadline, write_seconds: float) -> None:
        self._transport: asyncio.Transport | None = transport
        self._deadline = deadline
        self._write_seconds = write_seconds
        self._drained: asyncio.Future[None] | None = None
        self._gone: asyncio.Future[None] | None = None
        self._has_client_ended = False
        self.is_paused = False
        self._is_broken = False

    @property
    def is_open(self) -> bool:
        """Whether the client is still there, as far as is known."""
        return self._transport is not None

    def write(self, data: bytes) -> None:
        """Write, unless the connection is lost."""
        if self._transport is not None:
            self._transport.write(data)

    def pause(self) -> None:
        """The transport's buffer is full."""
        self.is_paused = True
        self._drained = asyncio.get_running_loop().create_future()

    def resume(self) -> None:
        """The transport's buffer has room."""
        self.is_paused = False
        wake(self._drained)
        self._drained = None

    async def drain(self) -> bool:
        """Wait until the client has read enough. One that does not in time is cut off: False."""
        if self._drained is not None:
            try:
                async with asyncio.timeout(self._write_seconds):
                    await self._drained
            except TimeoutError:
                self.abort()
        return self._transport is not None

    def shut_down(self) -> None:
        """Send no more, which the client learns; what still comes is read and dropped."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if transport.can_write_eof():
            try:
                transport.write_eof()
            except OSError:  # the client has reset the connection, and asyncio's own loop learns it here
                transport.abort()
        if not transport.is_reading():
            transport.resume_reading()

    async def linger(self) -> bool:
        """Shut down, and give the client a moment to close, too. Returns whether it was still there."""
        if self._transport is None or self._transport.is_closing():
            return False
        self.shut_down()
        if not self._has_client_ended:
            self._gone = asyncio.get_running_loop().create_future()
            await asyncio.wait((self._gone,), timeout=LINGER_SECONDS)
        return True

    async def was_read(self) -> bool:
        """Whether the client has read everything in time, as far as can be seen from here.

        Its kernel has acknowledged every byte, and it did not break the connection, as it does when it closes
        with bytes unread.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._write_seconds
        while self._transport is not None:
            if not _unacked_bytes(self._transport):
                return not _was_reset(self._transport)
            if loop.time() >= ends_at:
                return False
            await asyncio.sleep(_LOOK_SECONDS)
        return not self._is_broken

    def client_ended(self) -> None:
        """The client sends no more."""
        self._has_client_ended = True
        wake(self._gone)

    def stop_lingering(self) -> None:
        """Wait no longer."""
        wake(self._gone)

    def close(self) -> None:
        """Close when all that was written has left; a client that does not read it has `write_seconds`."""
        if self._transport is None or self._transport.is_closing():
            return
        self._deadline.clear()
        if self._transport.get_write_buffer_size():
            self._deadline.set(self._write_seconds, self.abort)
        self._transport.close()

    def abort(self) -> None:
        """Close at once, whatever is lost."""
        if self._transport is not None:
            self._is_broken = True
            self._transport.abort()

    def lost(self, error: Exception | None) -> None:
        """The connection has ended; `error`: it was broken."""
        self._transport = None
        self._is_broken = self._is_broken or error is not None
        wake(self._drained)
        wake(self._gone)


def wake(waiting: "asyncio.Future[None] | None") -> None:
    """Let go on what waits, if anything does."""
    if waiting is not None and not waiting.done():
        waiting.set_result(None)


def _unacked_bytes(transport: asyncio.Transport) -> int:
    """Those in our buffer and, where the system tells (Linux: SIOCOUTQ), in the kernel's."""
    queued = array.array("i", [0])
    try:
        fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, queued)
    except OSError:
        return transport.get_write_buffer_size()
    return transport.get_write_buffer_size() + queued[0]


def _was_reset(transport: asyncio.Transport) -> bool:
    """A reset throws away what was not acknowledged, and leaves an error."""
    connection: socket.socket = transport.get_extra_info("socket")
    return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
