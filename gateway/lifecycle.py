"""A replica's life: listen, keep house, drain, end. Design, section 2.

SIGTERM   not ready, answers close their connections; the listener closes after
          `drain_seconds`; calls in flight finish; the ops listener stays until
          the tenant series were scraped once more, `grace_seconds` at the longest
SIGINT    no waiting for traffic to move away: calls in flight finish, then the end
again     at once
"""

import asyncio
import logging
import os
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from backends.errors import BackendError
from gateway.app import App
from gateway.config.settings import ControlListener, DataListener, OpsListener, TlsSettings
from gateway.directory.records import labels_of
from gateway.edge.responding import Responder
from gateway.edge.server import EdgeServer, Handler, RefusalCount
from gateway.faults import describe_fault

log = logging.getLogger("kvs.lifecycle")

_BACKLOG = 4096
_HEALTH_SECONDS = 1.0
_DIRECTORY_SECONDS = 15.0
_POLL_SECONDS = 0.02
_FLUSH_SECONDS = 1.0

ListenerSettings = DataListener | OpsListener | ControlListener


class Listener:
    """One listening socket and its connections."""

    def __init__(self, server: EdgeServer, sockets: asyncio.Server, scheme: str) -> None:
        self._server = server
        self._sockets = sockets
        self._scheme = scheme

    @property
    def url(self) -> str:
        """Where it is reached; the port is the real one where 0 was configured."""
        host, port = self._sockets.sockets[0].getsockname()[:2]
        return f"{self._scheme}://[{host}]:{port}" if ":" in host else f"{self._scheme}://{host}:{port}"

    def stop_listening(self) -> None:
        """No new connections; those that do nothing are closed."""
        self._sockets.close()
        self._server.close_idle()

    async def close(self) -> None:
        """Let what is being written leave, then close every connection."""
        self.stop_listening()
        await self._server.shutdown(_FLUSH_SECONDS)


class Replica:
    """An app that listens."""

    def __init__(self, app: App, data: Listener, ops: Listener, control: Listener) -> None:
        self._app = app
        self._data = data
        self._ops = ops
        self._control = control

    @property
    def urls(self) -> dict[str, str]:
        """Where the three listeners are."""
        return {"data": self._data.url, "ops": self._ops.url, "control": self._control.url}

    async def drain(self) -> None:
        """End without failing a request."""
        shutdown = self._app.settings.shutdown
        ends_at = asyncio.get_running_loop().time() + shutdown.grace_seconds
        self._announce()
        await asyncio.sleep(shutdown.drain_seconds)
        await self._finish_calls(ends_at)
        scraped = self._app.ops.next_scrape()
        await _until(scraped.is_set, ends_at)

    async def finish(self) -> None:
        """End as soon as the calls in flight are answered."""
        ends_at = asyncio.get_running_loop().time() + self._app.settings.shutdown.grace_seconds
        self._announce()
        await self._finish_calls(ends_at)

    async def close(self) -> None:
        """Close what is still open."""
        for listener in (self._data, self._control, self._ops):
            await listener.close()
        for backend in self._app.backends:
            await backend.close()

    def _announce(self) -> None:
        log.info("draining")
        self._app.health.draining = True
        self._app.data_responder.draining = True

    async def _finish_calls(self, ends_at: float) -> None:
        self._data.stop_listening()
        if not await _until(lambda: self._app.data.is_idle, ends_at):
            self._app.data.stop()
            await asyncio.sleep(0)


@asynccontextmanager
async def running(app: App) -> AsyncIterator[Replica]:
    """A replica with its background work; everything is closed at the end."""
    tasks = [
        asyncio.create_task(_repeat(app.health.check, _HEALTH_SECONDS)),
        asyncio.create_task(_keep_directory(app)),
        asyncio.create_task(_repeat(_drop_idle(app), _idle_check_seconds(app))),
    ]
    replica = await _listen(app)
    try:
        yield replica
    finally:
        for task in tasks:
            task.cancel()
        await replica.close()


async def serve(app: App, announce: Callable[[dict[str, str]], None]) -> None:
    """Run until a signal ends it. `announce` is told where the listeners are."""
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, number)
    async with running(app) as replica:
        announce(replica.urls)
        first = await signals.get()
        ending = asyncio.create_task(replica.drain() if first is signal.SIGTERM else replica.finish())
        again = asyncio.create_task(signals.get())
        await asyncio.wait({ending, again}, return_when=asyncio.FIRST_COMPLETED)
        if again.done():
            os._exit(128 + again.result())
        again.cancel()
        await ending
    log.info("ended")


async def _listen(app: App) -> Replica:
    listen = app.settings.listen

    def uncounted(_: object) -> None:
        """Only the data listener's refusals are metered."""

    return Replica(
        app,
        data=await _open(app, app.data.handle, app.data_responder, app.data.count_refusal, listen.data),
        ops=await _open(app, app.ops.handle, app.side_responder, uncounted, listen.ops),
        control=await _open(app, app.control.handle, app.side_responder, uncounted, listen.control),
    )


async def _open(
    app: App, handler: Handler, responder: Responder, count_refusal: RefusalCount, where: ListenerSettings
) -> Listener:
    server = EdgeServer(handler, responder, app.settings.edge, count_refusal)
    reuse_port, tls = (where.reuse_port, where.tls) if isinstance(where, DataListener) else (False, None)
    sockets = await asyncio.get_running_loop().create_server(
        server,
        where.host,
        where.port,
        backlog=_BACKLOG,
        reuse_port=reuse_port or None,
        ssl=None if tls is None else _tls_context(tls),
    )
    return Listener(server, sockets, "http" if tls is None else "https")


def _tls_context(tls: TlsSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tls.certificate, tls.key)
    return context


async def _keep_directory(app: App) -> None:
    """Let new tables' series stand and reclaim deleted tables' space, on every change and in between."""
    while True:
        app.directory.changed.clear()
        try:
            apps = [record async for record in app.directory.all()]
            app.known_tables.update(labels_of(record, table) for record in apps for table in record.tables)
            await app.reclaimer.run()
        except BackendError as error:
            log.warning("the directory cannot be read", extra={"fields": describe_fault(error)})
        except Exception as fault:
            log.error("unforeseen fault", extra={"fields": describe_fault(fault)})
        try:
            async with asyncio.timeout(_DIRECTORY_SECONDS):
                await app.directory.changed.wait()
        except TimeoutError:
            continue


def _drop_idle(app: App) -> Callable[[], Awaitable[None]]:
    async def drop() -> None:
        app.usage.drop_idle()

    return drop


def _idle_check_seconds(app: App) -> float:
    return min(max(app.settings.metering.idle_seconds / 4, 0.25), 60.0)


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float) -> None:
    while True:
        try:
            await work()
        except Exception as fault:
            log.error("unforeseen fault", extra={"fields": describe_fault(fault)})
        await asyncio.sleep(seconds)


async def _until(condition: Callable[[], bool], ends_at: float) -> bool:
    """Wait for a condition; False if it did not come true in time."""
    loop = asyncio.get_running_loop()
    while not condition():
        if loop.time() >= ends_at:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
