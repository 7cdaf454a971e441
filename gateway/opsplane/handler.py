"""The ops listener: probes, metrics, the OpenAPI document. Not for tenants; no authentication."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files

import msgspec

from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import MethodNotAllowed, NotFound, Refusal
from gateway.domain.hosts import AcceptedHosts
from gateway.http.messages import Request, Response
from gateway.opsplane.exposition import CONTENT_TYPE, Exposition
from gateway.opsplane.health import Health, Status

BeginScrape = Callable[[str, "asyncio.Task[None]"], Callable[[], None] | None]

PROBES = (b"/livez", b"/readyz")

_VARY = ("Vary", "Accept-Encoding")
_USAGE_PATHS = (b"/metrics", b"/metrics/usage")


class OpsHandler:
    """Serves probes and scrapes.

    A scrape of the tenant series begins with `begin_scrape(peer, task)`. During a drain it returns a callback
    for when the client has read the response; the response then closes the connection, because only a
    closed connection shows that the client has read everything.
    """

    def __init__(
        self, health: Health, exposition: Exposition, hosts: AcceptedHosts, begin_scrape: BeginScrape
    ) -> None:
        self._health = health
        self._hosts = hosts
        self._api = files(__package__).joinpath("openapi.json").read_bytes()
        self._begin_scrape = begin_scrape
        self._routes: dict[str, Callable[[Request], Awaitable[Answer]]] = {
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/openapi.json": self._openapi,
            "/metrics": partial(_text, exposition.everything),
            "/metrics/usage": partial(_text, exposition.usage),
            "/metrics/service": partial(_text, exposition.service),
        }

    async def handle(self, request: Request) -> Response:
        """Answers one request of the ops listener."""
        was_read = None
        try:
            self._hosts.check(request.headers)
            if request.method == "GET" and request.path in _USAGE_PATHS:
                was_read = self._begin_scrape(request.peer, request.task)
            answer = await self._route(request)(request)
        except Refusal as refusal:
            answer = refuse(refusal)
        return Response(answer, closes=was_read is not None, on_read=was_read)

    def _route(self, request: Request) -> Callable[[Request], Awaitable[Answer]]:
        route = self._routes.get(request.path.decode("latin-1"))
        if route is None:
            raise NotFound
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(request.method, "GET, HEAD")
        return route

    async def _livez(self, _: Request) -> Answer:
        return Answer(200, b'{"status":"alive"}')

    async def _readyz(self, _: Request) -> Answer:
        health = self._health.describe()
        is_ready = health["status"] is Status.READY
        return Answer(200 if is_ready else 503, msgspec.json.encode(health))

    async def _openapi(self, _: Request) -> Answer:
        return Answer(200, self._api)


async def _text(render: Callable[..., Awaitable[bytes]], request: Request) -> Answer:
    codings = (request.headers.get(b"accept-encoding") or b"").replace(b" ", b"").lower().split(b",")
    if b"gzip" not in codings:
        return Answer(200, await render(), content_type=CONTENT_TYPE, fields=(_VARY,))
    body = await render(gzip=True)
    return Answer(200, body, content_type=CONTENT_TYPE, fields=(_VARY, ("Content-Encoding", "gzip")))
