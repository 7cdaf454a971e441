"""A request and its response as this edge sees them, in place of aiohttp's own classes.

Measured, aiohttp's request and response objects cost as much as all policies
together. Its server asks of both only what these two offer.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine
from random import getrandbits
from typing import TYPE_CHECKING

from aiohttp import HttpVersion11, StreamReader
from aiohttp.http_parser import RawRequestMessage
from msgspec import Struct

from gateway.domain.headers import Headers

if TYPE_CHECKING:
    from gateway.http.connection import EdgeProtocol

_REQUEST_ID = b"x-request-id"
_OWN_ID = re.compile(rb"[!-~]{1,128}")


class HttpRequest:
    """One request as the parser gave it: `target` is the bytes on the wire, `content` the body's stream.

    `id` is the client's own if that is 1 to 128 visible ASCII characters, else a new one.
    """

    __slots__ = ("content", "headers", "id", "keep_alive", "method", "protocol", "target", "task", "version")

    def __init__(
        self,
        message: RawRequestMessage,
        content: StreamReader,
        protocol: "EdgeProtocol",
        task: "asyncio.Task[None]",
    ) -> None:
        self.method = message.method
        self.target = message.path.encode("utf-8", "surrogateescape")
        self.headers = Headers(message.raw_headers)
        self.id = _request_id_of(self.headers)
        self.version = message.version
        self.keep_alive = not message.should_close and message.version >= HttpVersion11
        self.content = content
        self.protocol = protocol
        self.task = task

    @property
    def path(self) -> bytes:
        """The target without its query."""
        return self.target.partition(b"?")[0]

    def _finish(self) -> None:
        """aiohttp: the handler is done."""

    def _cancel(self, fault: BaseException) -> None:
        """aiohttp: the connection is lost; whoever reads the body has to know."""
        self.content.set_exception(fault)


def new_request_id() -> str:
    """An id of 24 hex digits; it has to be rare, not secret."""
    return getrandbits(96).to_bytes(12).hex()


def _request_id_of(headers: Headers) -> str:
    own = headers.get(_REQUEST_ID)
    if own is None or _REQUEST_ID in headers.repeated or not _OWN_ID.fullmatch(own):
        return new_request_id()
    return own.decode()


class HttpResponse(Struct, frozen=True):
    """A finished response, head and body in one piece. A client that does not read it is cut off."""

    wire: bytes
    keep_alive: bool
    write_seconds: float

    def send(self, protocol: "EdgeProtocol") -> Coroutine[None, None, None] | None:
        """Write the response. Returns what is to be awaited, if anything. Raises ConnectionError."""
        transport = protocol.transport
        if transport is None:
            raise ConnectionResetError
        transport.write(self.wire)
        return self._wait_for_reader(protocol, transport) if protocol.writing_paused else None

    async def _wait_for_reader(self, protocol: "EdgeProtocol", transport: asyncio.Transport) -> None:
        try:
            async with asyncio.timeout(self.write_seconds):
                await protocol.drain()
        except TimeoutError:
            transport.abort()
            raise ConnectionResetError from None

    async def prepare(self, request: HttpRequest) -> None:
        """aiohttp: write the response."""
        rest = self.send(request.protocol)
        if rest is not None:
            await rest

    async def write_eof(self) -> None:
        """aiohttp: all is written by `prepare`."""


class LastResponse(HttpResponse, frozen=True):
    """A response behind which the client may still send: closing at once could reset it away.

    `on_read` is called when the client has read it, as far as can be seen from here: its machine has taken
    everything within `write_seconds`, and it did not break the connection.
    """

    on_read: Callable[[], object] | None = None

    def send(self, protocol: "EdgeProtocol") -> Coroutine[None, None, None]:
        """Write the response, then wait for the client to have read it."""
        return self._linger(protocol, super().send(protocol))

    async def _linger(self, protocol: "EdgeProtocol", rest: Coroutine[None, None, None] | None) -> None:
        if rest is not None:
            await rest
        is_there = await protocol.linger()
        if is_there and self.on_read is not None and await protocol.was_read(self.write_seconds):
            self.on_read()
