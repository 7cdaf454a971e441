"""The server of one listener: its connections, their cap, and what all of them share."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast
from weakref import WeakSet

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from gateway.config.settings import EdgeSettings
from gateway.domain.errors import Refusal
from gateway.http.capacity import with_refused
from gateway.http.connection import EdgeProtocol
from gateway.http.messages import HttpRequest, HttpResponse, LastResponse, new_request_id
from gateway.http.responses import Responder

log = logging.getLogger("kvs.edge")

Handler = Callable[[HttpRequest], Awaitable[HttpResponse]]
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
            "logger": log,
        }
        super().__init__(cast(Any, handler), **options)
        self.handler = handler
        self._options = options
        self._responder = responder
        self._count_refusal = count_refusal
        self.settings = settings
        self._to_connect: WeakSet[EdgeProtocol] = WeakSet()  # nobody tells of a TLS handshake that fails
        self._most_connections = with_refused(settings.max_connections)

    def __call__(self) -> RequestHandler:
        protocol = EdgeProtocol(self, loop=self._loop, **self._options)
        self._to_connect.add(protocol)
        return protocol

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        self._to_connect.discard(handler)
        super().connection_made(handler, transport)

    def refuse_connection(self, refusal: Refusal, request_id: str | None = None) -> LastResponse:
        """The response to what is not a request, or cannot be served, counted."""
        self._count_refusal(refusal)
        return self._responder.refuse_connection(refusal, request_id or new_request_id())

    def is_full(self) -> bool:
        """Whether there are more connections than the cap; `connections` would copy them all."""
        return self.connection_count > self.settings.max_connections

    def is_crammed(self) -> bool:
        """Whether there are even too many of those that are refused."""
        return self.connection_count > self._most_connections

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    @property
    def expects_heads(self) -> bool:
        """Whether a connection is new, is shaking hands, or has sent a part of a request's head."""
        return bool(self._to_connect) or any(
            cast(EdgeProtocol, protocol).expects_head for protocol in self.connections
        )

    def close_idle(self, *, spare_expectant: bool = False) -> None:
        """Close idle connections; `spare_expectant` spares new ones and those that have begun a head."""
        for connection in self.connections:
            protocol = cast(EdgeProtocol, connection)
            if not (spare_expectant and protocol.expects_head):
                protocol.close_if_idle()
