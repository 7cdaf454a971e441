"""The life of a replica: it listens, serves until a signal, and ends.

SIGTERM   graceful shutdown: the drain of `gateway.replica.drain`
SIGINT    calls in flight finish; no wait for clients to move away, nor for a scrape
again     a second signal exits immediately, with status 128 plus its number
SIGHUP    hot reload: reads the configuration again, as after a change of its files
"""

import asyncio
import errno
import gc
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

from msgspec.structs import replace

from gateway.config.certificates import ShownCertificate
from gateway.config.settings import LISTENERS, EdgeSettings, ListenSettings
from gateway.http.listener import Listener, open_listener
from gateway.http.service import Service, affordable_connections
from gateway.replica.background import StartTask
from gateway.replica.drain import Drain
from gateway.replica.reload import FileWatch

log = logging.getLogger("kvs.lifecycle")

_ENDINGS = (signal.SIGTERM, signal.SIGINT)


class CannotListen(Exception):
    """A listener could not be opened; the message says which, where and why."""


class Resource(Protocol):
    """A resource that outlives the listeners."""

    async def close(self) -> None:
        """Frees the resource."""
        ...


class Replica:
    """Listeners, background loops and resources. `certificates` are those of the listeners with TLS.

    `services` are in the order in which their listeners open. The data listener opens last, when everything
    that serves its requests is there, and closes first.
    """

    def __init__(
        self,
        listen: ListenSettings,
        services: Mapping[str, Service],
        certificates: Mapping[str, ShownCertificate],
        drain: Drain,
        *,
        background: Sequence[StartTask],
        resources: Sequence[Resource],
    ) -> None:
        self._listen = listen
        self._services = services
        self._certificates = certificates
        self._drain = drain
        self._background = background
        self._resources = resources
        self._listeners: dict[str, Listener] = {}

    @property
    def urls(self) -> dict[str, str]:
        """URLs of the open listeners."""
        return {name: self._listeners[name].url for name in LISTENERS if name in self._listeners}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listens, and in the end closes everything in reverse order. Raises CannotListen."""
        async with AsyncExitStack() as opened:
            for resource in self._resources:
                opened.push_async_callback(resource.close)
            for name in self._services:
                self._listeners[name] = listener = await self._open(name)
                opened.push_async_callback(listener.close)
            for start in self._background:
                opened.push_async_callback(start().close)
            yield

    async def drain(self) -> None:
        """Shuts down without failing a request."""
        await self._drain.run(self._listeners["data"].stop_listening)

    async def finish(self) -> None:
        """Shuts down as soon as the calls in flight are answered."""
        await self._drain.finish(self._listeners["data"].stop_listening)

    async def _open(self, name: str) -> Listener:
        where = getattr(self._listen, name)
        try:
            return await open_listener(where, self._services[name], self._certificates.get(name))
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                reason = f"address already in use; set another listen.{name}.port (kvs-gateway dev: --port)"
            raise CannotListen(f"{name} on {where.host}:{where.port}: {reason}") from error


async def serve(replica: Replica, watch: FileWatch, announce: Callable[[dict[str, str]], None]) -> None:
    """Runs a replica until a signal ends it. Calls `announce` with the URLs of the listeners."""
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in _ENDINGS:
        loop.add_signal_handler(number, signals.put_nowait, number)
    async with replica.running(), _watching(watch):
        gc.collect()
        gc.freeze()  # a collection would visit these 49,000 long-lived objects for 8 to 13 ms
        gc.enable()
        announce(replica.urls)
        first = await signals.get()
        for number in _ENDINGS:
            loop.add_signal_handler(number, os._exit, 128 + number)
        if not signals.empty():
            os._exit(128 + signals.get_nowait())
        await (replica.drain() if first is signal.SIGTERM else replica.finish())
    log.info("ended")


@asynccontextmanager
async def _watching(watch: FileWatch) -> AsyncIterator[None]:
    background = watch.start()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, watch.request)
    try:
        yield
    finally:
        await background.close()


def within_limits(edge: EdgeSettings) -> EdgeSettings:
    """Reduces `max_connections` to what the limit of open files allows."""
    connections = affordable_connections(edge.max_connections)
    if connections < edge.max_connections:
        log.warning(
            "the limit of open files is too low for edge.max_connections",
            extra={"fields": {"max_connections": connections}},
        )
    return replace(edge, max_connections=connections)
