"""Connections at the edge: caps and deadlines that aiohttp leaves open, and its refusals as JSON.

Measured on aiohttp 3.14: a head or a silent new connection has no deadline, what
the parser refuses is answered in plain text and logged with a traceback.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from gateway.config.settings import EdgeSettings
from gateway.edge.responding import Responder, WireResponse
from gateway.errors import BadRequest, InternalError, Overloaded, Refusal, RequestTimeout

_LINGER_SECONDS = 1.0
"""How long a connection that is closed early still reads, so that its answer is not lost to a reset."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
RefusalCount = Callable[[Refusal], None]


class EdgeServer(web.Server):
    """Makes the protocol of each connection of one listener."""

    def __init__(
        self, handler: Handler, responder: Responder, settings: EdgeSettings, count_refusal: RefusalCount
    ) -> None:
        options: dict[str, Any] = {
            "auto_decompress": False,
            "access_log": None,
            "keepalive_timeout": settings.idle_seconds,
            "lingering_time": _LINGER_SECONDS,
            "logger": logging.getLogger("kvs.edge"),
        }
        super().__init__(handler, **options)
        self._options = options
        self._responder = responder
        self._count_refusal = count_refusal
        self.settings = settings

    def __call__(self) -> RequestHandler:
        return EdgeProtocol(self, loop=self._loop, **self._options)

    def refuse_connection(self, refusal: Refusal) -> WireResponse:
        """The response to what is not a request, counted."""
        self._count_refusal(refusal)
        return self._responder.refuse_connection(refusal)

    def close_idle(self) -> None:
        """Close the connections on which nothing is going on."""
        for protocol in self.connections:
            cast(EdgeProtocol, protocol).close_if_idle()


class EdgeProtocol(RequestHandler):
    """One connection."""

    __slots__ = ("_deadline", "_heads_before", "_server")

    def __init__(self, server: EdgeServer, *, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(server, loop=loop, **options)
        self._server = server
        self._deadline: asyncio.TimerHandle | None = None
        self._heads_before = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self._server.connections) > self._server.settings.max_connections:
            self._refuse_connection(Overloaded())
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is None:
            if self._is_waiting() and not self._close:
                self._expect_head()
        elif self._request_count != self._heads_before:
            self._deadline.cancel()
            self._deadline = None

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        super().connection_lost(exc)

    def close_if_idle(self) -> None:
        """Close unless a request is being read, handled or answered."""
        if self._is_waiting():
            self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - the signature is aiohttp's
        status: int = 500,
        exc: BaseException | None = None,  # noqa: ARG002
        message: str | None = None,  # noqa: ARG002
    ) -> web.StreamResponse:
        """What the parser refuses is 400; anything else that gets here is our fault."""
        refusal: Refusal = BadRequest() if 400 <= status < 500 else InternalError()
        return self._server.refuse_connection(refusal)

    def _is_waiting(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _expect_head(self) -> None:
        self._heads_before = self._request_count
        self._deadline = self._loop.call_later(self._server.settings.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        self._deadline = None
        self._refuse_connection(RequestTimeout())

    def _refuse_connection(self, refusal: Refusal) -> None:
        transport = self.transport
        if transport is None:
            return
        transport.write(self._server.refuse_connection(refusal).wire)
        self._close = True
        self._loop.call_later(_LINGER_SECONDS, self.force_close)
        if transport.can_write_eof():
            transport.write_eof()
