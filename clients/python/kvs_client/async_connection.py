"""One connection of the asynchronous client, with one exchange at a time."""

import asyncio
from typing import Any

from urllib3.util import wait_for_read

from kvs_client.answers import Answer
from kvs_client.heads import Head, MalformedHttp, parsed_chunk_size, parsed_fields, parsed_head

_HEAD_BYTES = 32_768
"""Limit of a head with all informational ones before it, and of the trailers."""
_CHUNK_LINE_BYTES = 256
_END_OF_HEAD = b"\r\n\r\n"
_END_OF_LINE = b"\r\n"


class Connection(asyncio.Protocol):
    """Bytes that arrive outside an exchange end the connection: they answer no request of this client."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._is_busy = False
        self._has_ended = False
        self._is_reset = False
        self.lost: asyncio.Future[None] = loop.create_future()
        self.idle_since = 0.0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._is_busy:
            self.abort()
            return
        self._received += data
        self._wake()

    def eof_received(self) -> None:
        self._has_ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._has_ended = True
        self._is_reset = error is not None
        self._wake()
        if not self.lost.done():
            self.lost.set_result(None)

    def abort(self) -> None:
        """Closes the connection immediately; `lost` is done when it is closed."""
        self._has_ended = True
        if self._transport is not None:
            self._transport.abort()

    def is_silent(self) -> bool:
        """Reports that nothing has arrived since the last answer, neither bytes nor the end.

        It looks into the socket: between two calls the event loop may not have run.
        """
        transport = self._transport
        if transport is None or self._has_ended or transport.is_closing():
            return False
        return not wait_for_read(transport.get_extra_info("socket"), 0)

    async def exchange(self, request: bytes, bound: int) -> tuple[Answer, bool]:
        """Sends a request, reads its answer, and reports whether the connection can be reused."""
        transport = self._transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError
        self._is_busy = True
        transport.write(request)
        head = await self._head()
        body = await self._body(head, bound)
        self._is_busy = False
        is_clean = not (self._received or self._has_ended or transport.get_write_buffer_size())
        is_kept = body is not None and head.keeps_connection and is_clean
        return Answer(head.status, head.fields, body or b"", body is not None), is_kept

    async def _head(self) -> Head:
        """Reads to the head of the final answer; informational ones are skipped."""
        left = _HEAD_BYTES
        while True:
            text = await self._until(_END_OF_HEAD, left)
            head = parsed_head(text)
            if not head.is_informational:
                return head
            left -= len(text)

    async def _body(self, head: Head, bound: int) -> bytes | None:
        """Returns the body, or None if it is longer than `bound`."""
        if head.is_chunked:
            return await self._chunks(bound)
        if head.length is None:
            return await self._rest(bound)
        return await self._exactly(head.length) if head.length <= bound else None

    async def _chunks(self, bound: int) -> bytes | None:
        body = bytearray()
        while size := parsed_chunk_size(await self._until(_END_OF_LINE, _CHUNK_LINE_BYTES)):
            if len(body) + size > bound:
                return None
            body += await self._exactly(size)
            if await self._exactly(len(_END_OF_LINE)) != _END_OF_LINE:
                raise MalformedHttp
        left = _HEAD_BYTES
        while line := await self._until(_END_OF_LINE, left):
            parsed_fields([line])
            left -= len(line)
        return bytes(body)

    async def _rest(self, bound: int) -> bytes | None:
        while len(self._received) <= bound:
            if not await self._more():
                return self._taken(len(self._received))
        return None

    async def _exactly(self, size: int) -> bytes:
        while len(self._received) < size:
            await self._demand_more()
        return self._taken(size)

    async def _until(self, end: bytes, bound: int) -> bytes:
        start = 0
        while (at := self._received.find(end, start, bound + len(end))) < 0:
            if len(self._received) >= bound + len(end):
                raise MalformedHttp
            start = max(0, len(self._received) - len(end) + 1)
            await self._demand_more()
        text = self._taken(at)
        self._taken(len(end))
        return text

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    async def _demand_more(self) -> None:
        if not await self._more():
            raise ConnectionResetError

    async def _more(self) -> bool:
        """Waits for further bytes; returns False at the end of the connection."""
        size = len(self._received)
        while len(self._received) == size and not self._has_ended:
            self._waiter = self._loop.create_future()
            await self._waiter
        if len(self._received) == size and self._is_reset:
            raise ConnectionResetError
        return len(self._received) > size

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
