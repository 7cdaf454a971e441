"""A connection until its TLS handshake is over. It is limited and evicted like any other (D150)."""

import asyncio
import ssl
from contextlib import suppress
from sys import intern
from typing import cast

from gateway.domain.errors import Overloaded
from gateway.http.admission import Deadline
from gateway.http.connection import Connection
from gateway.http.service import Service
from gateway.http.state import NEW

_HANDSHAKE_RECORD = 22
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_LONGEST_HELLO = 16_384


class Handshake(asyncio.Protocol):
    """Performs a TLS handshake. Admitted like a connection, then replaced by one that is admitted anew.

    With a lane for handshakes, one begins once its ClientHello has arrived, and then waits for its turn:
    signing the answer takes a millisecond, so many handshakes at once would block the loop.

    Two kinds of bytes may come too early, and are kept: the beginning of the handshake, because uvloop reads
    as soon as there is a connection, even if reading is paused; and a request right after the handshake,
    before the loop wakes the task that waits for the handshake.
    """

    state = NEW

    def __init__(self, service: Service, context: ssl.SSLContext) -> None:
        self._service = service
        self._context = context
        self._task: asyncio.Task[None] | None = None
        self._is_begun = False
        self._of_handshake: list[bytes] = []
        self._of_requests: list[bytes] = []
        self._deadline = Deadline(asyncio.get_running_loop())
        self.peer = ""

    # for the listener: `OpenConnection`

    def close_if_idle(self) -> None:
        self.abort()

    def stop_lingering(self) -> None:
        self.abort()

    def evict(self) -> None:
        self.abort()

    def abort(self) -> None:
        self._transport.abort()

    def distrust(self) -> None:
        self.abort()

    # for the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        name = transport.get_extra_info("peername")
        self.peer = intern(name[0]) if name else ""
        limiter = self._service.limiter
        # a refused connection completes the handshake, so that `Connection` can send the refusal
        if limiter.admit(self) or limiter.may_linger(self):
            if self._service.handshakes is None:
                self._begin()
            else:
                self._deadline.set(self._service.settings.head_seconds, self.abort)
        else:
            self._service.count_refusal(Overloaded())
            limiter.leave(self)
            self.abort()

    def data_received(self, data: bytes) -> None:
        (self._of_requests if self._is_begun else self._of_handshake).append(data)
        if self._task is None:
            self._of_handshake = [b"".join(self._of_handshake)]
            if is_whole_hello(self._of_handshake[0]):
                self._begin()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Leaves: the connection was lost before the handshake began."""
        self._deadline.close()
        self._service.limiter.leave(self)

    def _begin(self) -> None:
        self._deadline.close()
        self._transport.pause_reading()
        self._task = asyncio.get_running_loop().create_task(self._serve(), name="handshake")

    async def _serve(self) -> None:
        secured: asyncio.Transport | None = None
        try:
            if not self._transport.is_closing():
                with suppress(OSError):  # includes SSLError, and the timeout of a late client
                    secured = await self._shake_hands()
        finally:
            self._service.limiter.leave(self)
        if secured is None or self._transport.is_closing():
            self.abort()
            return
        connection = Connection(self._service)
        secured.set_protocol(connection)
        connection.connection_made(secured)
        for data in self._of_requests:
            connection.data_received(data)

    async def _shake_hands(self) -> asyncio.Transport | None:
        """Returns the transport on top of TLS; None if the connection was lost. Raises OSError.

        `start_tls` first schedules two steps: its protocol gets the transport, and reading resumes. A step
        that is scheduled after these two, here, runs before anything else is read.
        """
        loop = asyncio.get_running_loop()
        handshake = loop.create_task(
            loop.start_tls(
                self._transport,
                self,
                self._context,
                server_side=True,
                ssl_handshake_timeout=self._service.settings.head_seconds,
            )
        )
        await asyncio.sleep(0)  # `start_tls` has begun: bytes now go to its protocol
        self._is_begun = True
        await asyncio.sleep(0)  # its protocol has the transport
        protocol = cast(asyncio.BufferedProtocol, self._transport.get_protocol())
        delivery = self._deliver_to(protocol)
        lane = self._service.handshakes
        await (delivery if lane is None else lane.run(delivery))
        return await handshake

    async def _deliver_to(self, protocol: asyncio.BufferedProtocol) -> None:
        """Delivers the beginning of the handshake. The protocol signs the answer meanwhile."""
        for data in self._of_handshake:
            _deliver(data, protocol)


def is_whole_hello(data: bytes) -> bool:
    """Tests whether a ClientHello is complete, or can never be (RFC 8446, sections 4 and 5.1)."""
    hello, at = b"", 0
    while len(data) >= at + _RECORD_HEAD and data[at] == _HANDSHAKE_RECORD:
        end = at + _RECORD_HEAD + int.from_bytes(data[at + 3 : at + 5])
        if len(data) < end:
            break
        hello, at = hello + data[at + _RECORD_HEAD : end], end
        if len(hello) >= _MESSAGE_HEAD + int.from_bytes(hello[1:_MESSAGE_HEAD]):
            return True
    return len(data) > _LONGEST_HELLO or (len(data) > at and data[at] != _HANDSHAKE_RECORD)


def _deliver(data: bytes, protocol: asyncio.BufferedProtocol) -> None:
    while data:
        buffer = memoryview(protocol.get_buffer(len(data)))
        size = min(len(data), len(buffer))
        buffer[:size] = data[:size]
        protocol.buffer_updated(size)
        data = data[size:]
