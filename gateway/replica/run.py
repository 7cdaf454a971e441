"""A replica's life: listen, keep house, drain, end.

SIGTERM   not ready, answers close their connections; the listener closes after
          `drain_seconds`; calls in flight finish; the ops listener stays until
          the tenant series were scraped once more, `grace_seconds` at the longest
SIGINT    no waiting for traffic to move away: calls in flight finish, then the end
again     at once, with 128 and the signal's number
SIGHUP    reads the configuration again, as a change of its files does
"""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec.structs import replace

from gateway.app import App
from gateway.config.certificates import ShownCertificate
from gateway.config.loading import ConfigurationFile
from gateway.config.settings import EdgeSettings
from gateway.http.listener import Listener, Where, open_listener
from gateway.http.service import Service, affordable_connections
from gateway.observability.catalogue import CONNECTIONS
from gateway.replica.background import chores
from gateway.replica.reload import Reloader

log = logging.getLogger("kvs.lifecycle")

_ENDINGS = (signal.SIGTERM, signal.SIGINT)


class CannotListen(Exception):
    """A listener could not be opened; the message says which, where and why."""


class Replica:
    """An app that listens."""

    def __init__(self, app: App, data: Listener, ops: Listener, control: Listener) -> None:
        self._app = app
        self._data = data
        self._ops = ops
        self._control = control
        self._idle = asyncio.Event()
        self._scraped = asyncio.Event()

    @property
    def urls(self) -> dict[str, str]:
        """Where the three listeners are."""
        return {"data": self._data.url, "ops": self._ops.url, "control": self._control.url}

    @property
    def certificate(self) -> ShownCertificate | None:
        """What the data listener shows, if it does."""
        return self._data.certificate

    async def drain(self) -> None:
        """End without failing a request."""
        shutdown = self._app.settings.shutdown
        ends_at = asyncio.get_running_loop().time() + shutdown.grace_seconds
        self._announce()
        await asyncio.sleep(min(shutdown.drain_seconds, shutdown.grace_seconds))
        await self._data.stop_listening(ends_at)
        await self._finish_calls(ends_at)
        log.info("waiting for a last scrape", extra={"fields": {"at_most_seconds": shutdown.grace_seconds}})
        await self._until_scraped(ends_at)

    async def finish(self) -> None:
        """End as soon as the calls in flight are answered."""
        now = asyncio.get_running_loop().time()
        self._announce()
        await self._data.stop_listening(now)
        await self._finish_calls(now + self._app.settings.shutdown.grace_seconds)

    def _announce(self) -> None:
        log.info("draining")
        self._app.health.draining = True
        self._app.data.watch_idle(self._note_idle)
        self._note_idle()

    def _note_idle(self) -> None:
        """Perhaps this was the last answer: the scrape to wait for is one that begins from now on."""
        waited_for, self._scraped = self._scraped, self._app.ops.next_scrape()
        waited_for.set()
        self._idle.set()

    async def _until_scraped(self, ends_at: float) -> None:
        """A call that comes even now begins the wait anew."""
        scraped = None
        while scraped is not self._scraped or not self._app.data.is_idle:
            await self._finish_calls(ends_at)
            scraped = self._scraped
            if not await _wait(scraped.wait(), ends_at):
                return

    async def _finish_calls(self, ends_at: float) -> None:
        while not self._app.data.is_idle:
            self._idle.clear()
            if not await _wait(self._idle.wait(), ends_at):
                self._app.data.stop()
                await asyncio.sleep(0)
                return


@asynccontextmanager
async def running(app: App) -> AsyncIterator[Replica]:
    """A replica with its background work; everything is closed at the end, in reverse."""
    async with AsyncExitStack() as opened:
        for backend in app.backends:
            opened.push_async_callback(backend.close)
        if app.tracing is not None:
            opened.push_async_callback(app.tracing.close)
        yield await _listen(app, opened)


async def serve(app: App, file: ConfigurationFile, announce: Callable[[dict[str, str]], None]) -> None:
    """Run until a signal ends it. `announce` is told where the listeners are; `file` is watched."""
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in _ENDINGS:
        loop.add_signal_handler(number, signals.put_nowait, number)
    async with running(app) as replica, _reloading(app, replica, file):
        announce(replica.urls)
        first = await signals.get()
        for number in _ENDINGS:
            loop.add_signal_handler(number, os._exit, 128 + number)
        if not signals.empty():
            os._exit(128 + signals.get_nowait())
        await (replica.drain() if first is signal.SIGTERM else replica.finish())
    log.info("ended")


@asynccontextmanager
async def _reloading(app: App, replica: Replica, file: ConfigurationFile) -> AsyncIterator[None]:
    reloader = Reloader(file, app.renewal, replica.certificate, app.metrics, app.clock)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloader.demand)
    watching = asyncio.create_task(reloader.watch())
    try:
        yield
    finally:
        watching.cancel()


async def _listen(app: App, opened: AsyncExitStack) -> Replica:
    """The data listener opens last, when everything that serves its requests is there, and closes first."""
    listen, edge = app.settings.listen, _within_limits(app.settings.edge)

    async def open_one(name: str, where: Where, service: Service) -> Listener:
        try:
            listener = await open_listener(where, service)
        except OSError as error:
            raise CannotListen(f"{name} on {where.host}:{where.port}: {error.strerror or error}") from error
        opened.push_async_callback(listener.close)
        return listener

    ops = await open_one("ops", listen.ops, Service(app.ops.handle, edge, app.clock))
    control = await open_one("control", listen.control, Service(app.control.handle, edge, app.clock))
    service = Service(
        app.handle_data,
        edge,
        app.clock,
        is_draining=lambda: app.health.draining,
        count_refusal=app.data.count_refusal,
    )
    data = await open_one("data", listen.data, service)
    app.metrics.watch(CONNECTIONS, lambda: data.connection_count)
    for chore in chores(app):
        opened.callback(asyncio.create_task(chore).cancel)
    return Replica(app, data, ops, control)


def _within_limits(edge: EdgeSettings) -> EdgeSettings:
    connections = affordable_connections(edge.max_connections)
    if connections < edge.max_connections:
        log.warning(
            "the limit of open files is too low for edge.max_connections",
            extra={"fields": {"max_connections": connections}},
        )
    return replace(edge, max_connections=connections)


async def _wait(event: Coroutine[None, None, object], ends_at: float) -> bool:
    """Wait for an event; False if it did not happen in time."""
    try:
        async with asyncio.timeout_at(ends_at):
            await event
    except TimeoutError:
        return False
    return True
