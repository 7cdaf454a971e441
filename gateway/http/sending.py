"""The sending side of a connection: backpressure, and an end that loses nothing of the last response."""

import array
import asyncio
import fcntl
import socket
import termios

LINGER_SECONDS = 1.0
"""Time for which a connection that ends early still reads. Closed immediately, with bytes of the client
unread, it would be reset by the kernel, and the client would lose a response that it has not read (RFC 9112,
section 9.6)."""

_POLL_SECONDS = 0.05


class Sender:
    """Writes to one transport, and ends it. The connection has the state; here are the futures that wait.

    `is_paused`: the client reads slower than it is written to.
    """

    __slots__ = ("_drained", "_gone", "_transport", "_write_seconds", "is_paused")

    def __init__(self, transport: asyncio.Transport, write_seconds: float) -> None:
        self._transport: asyncio.Transport | None = transport
        self._write_seconds = write_seconds
        self._drained: asyncio.Future[None] | None = None
        self._gone: asyncio.Future[None] | None = None
        self.is_paused = False

    def write(self, data: bytes) -> None:
        """Writes, unless the connection is lost."""
        if self._transport is not None:
            self._transport.write(data)

    def pause(self) -> None:
        """Pauses: the transport's buffer is full."""
        self.is_paused = True
        self._drained = asyncio.get_running_loop().create_future()

    def resume(self) -> None:
        """Resumes: the transport's buffer has room."""
        self.is_paused = False
        wake(self._drained)
        self._drained = None

    async def drain(self) -> bool:
        """Waits until the client has read enough. Returns False if it does not within `write_seconds`."""
        if self._drained is not None:
            try:
                async with asyncio.timeout(self._write_seconds):
                    await self._drained
            except TimeoutError:
                return False
        return True

    def shut_down(self) -> None:
        """Closes the sending side, which the client learns; bytes that still come are read and dropped."""
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

    async def linger(self, *, for_client: bool) -> bool:
        """Shuts down, and gives the client a moment to close as well, if it has not (`for_client`).

        Returns whether the client was still there.
        """
        if self._transport is None or self._transport.is_closing():
            return False
        self.shut_down()
        if for_client:
            self._gone = asyncio.get_running_loop().create_future()
            await asyncio.wait((self._gone,), timeout=LINGER_SECONDS)
        return True

    async def was_acknowledged(self) -> bool:
        """Tests whether the client's kernel acknowledges every byte within `write_seconds`.

        True as well if the connection ends meanwhile; its state says whether it was broken, as it is when a
        client closes with bytes unread.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._write_seconds
        while self._transport is not None:
            if not _unacked_bytes(self._transport):
                return not _was_reset(self._transport)
            if loop.time() >= ends_at:
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True

    def stop_lingering(self) -> None:
        """Ends the moment that the client was given, if any."""
        wake(self._gone)

    def close(self) -> bool:
        """Closes once all that was written has left. Returns whether some of it has not."""
        if self._transport is None or self._transport.is_closing():
            return False
        has_unsent = self._transport.get_write_buffer_size() > 0
        self._transport.close()
        return has_unsent

    def abort(self) -> None:
        """Closes immediately; bytes that have not left are lost."""
        if self._transport is not None:
            self._transport.abort()

    def lost(self) -> None:
        """Wakes all that wait: the connection has ended."""
        self._transport = None
        wake(self._drained)
        wake(self._gone)


def wake(waiter: "asyncio.Future[None] | None") -> None:
    """Wakes the waiter, if any."""
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _unacked_bytes(transport: asyncio.Transport) -> int:
    """Counts the bytes in our buffer and, where the system counts them (Linux: SIOCOUTQ), in the kernel's."""
    queued = array.array("i", [0])
    try:
        fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, queued)
    except OSError:
        return transport.get_write_buffer_size()
    return transport.get_write_buffer_size() + queued[0]


def _was_reset(transport: asyncio.Transport) -> bool:
    """Tests for a reset, which throws away the bytes that were not acknowledged, and leaves an error."""
    connection: socket.socket = transport.get_extra_info("socket")
    return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
