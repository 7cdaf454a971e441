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
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress

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
_LATE_HEAD_SECONDS = 1.0

Where = DataListener | OpsListener | ControlListener


class Listener:
    """One listening socket and its connections."""

    def __init__(self, server: EdgeServer, sockets: asyncio.Server, tls: ssl.SSLContext | None) -> None:
        self._server = server
        self._sockets = sockets
        self._tls = tls

    @property
    def url(self) -> str:
        """Where it is reached; the port is the real one where 0 was configured."""
        scheme = "http" if self._tls is None else "https"
        host, port = self._sockets.sockets[0].getsockname()[:2]
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    async def stop_listening(self, ends_at: float) -> None:
        """No new connections. Idle ones are closed; requests on their way may arrive for a moment.

        Connections that wait to be accepted are taken: the kernel would reset them.
        """
        sockets = [socket.socket(fileno=os.dup(each.fileno())) for each in self._sockets.sockets]
        self._sockets.close()
        waiting = [connection for each in sockets for connection in _accept_waiting(each)]
        await self._serve(waiting)
        self._server.close_idle(spare_expectant=True)
        moment_ends_at = asyncio.get_running_loop().time() + _LATE_HEAD_SECONDS
        await _until(lambda: not self._server.expects_heads, min(moment_ends_at, ends_at))

    async def close(self) -> None:
        """Let what is being written leave, then close every connection."""
        self._sockets.close()
        self._server.close_idle()
        await self._server.shutdown(_FLUSH_SECONDS)

    async def _serve(self, waiting: list[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        handshake_seconds = None if self._tls is None else _LATE_HEAD_SECONDS
        connections = [
            loop.connect_accepted_socket(
                self._server, each, ssl=self._tls, ssl_handshake_timeout=handshake_seconds
            )
            for each in waiting
        ]
        await asyncio.gather(*connections, return_exceptions=True)


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

    async def drain(self) -> None:
        """End without failing a request."""
        shutdown = self._app.settings.shutdown
        ends_at = asyncio.get_running_loop().time() + shutdown.grace_seconds
        self._announce()
        await asyncio.sleep(shutdown.drain_seconds)
        await self._data.stop_listening(ends_at)
        await self._finish_calls(ends_at)
        await _wait(self._scraped.wait(), ends_at)

    async def finish(self) -> None:
        """End as soon as the calls in flight are answered."""
        now = asyncio.get_running_loop().time()
        self._announce()
        await self._data.stop_listening(now)
        await self._finish_calls(now + self._app.settings.shutdown.grace_seconds)

    def _announce(self) -> None:
        log.info("draining")
        self._app.health.draining = True
        self._app.data_responder.draining = True
        self._app.data.watch_idle(self._note_idle)
        self._note_idle()

    def _note_idle(self) -> None:
        """Perhaps this was the last answer: the scrape to wait for is one that begins from now on."""
        self._scraped = self._app.ops.next_scrape()
        self._idle.set()

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
        yield await _listen(app, opened)


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


async def _listen(app: App, opened: AsyncExitStack) -> Replica:
    """The data listener opens last, when everything that serves its requests is there, and closes first."""
    listen = app.settings.listen

    async def open_one(handler: Handler, responder: Responder, count: RefusalCount, where: Where) -> Listener:
        listener = await _open(EdgeServer(handler, responder, app.settings.edge, count), where)
        opened.push_async_callback(listener.close)
        return listener

    def uncounted(_: object) -> None:
        """Only the data listener's refusals are metered."""

    ops = await open_one(app.ops.handle, app.side_responder, uncounted, listen.ops)
    control = await open_one(app.control.handle, app.side_responder, uncounted, listen.control)
    data = await open_one(app.data.handle, app.data_responder, app.data.count_refusal, listen.data)
    for work in (
        _repeat(app.health.check, _HEALTH_SECONDS),
        _keep_directory(app),
        _repeat(_drop_idle(app), _idle_check_seconds(app)),
    ):
        opened.callback(asyncio.create_task(work).cancel)
    return Replica(app, data, ops, control)


async def _open(server: EdgeServer, where: Where) -> Listener:
    reuse_port, tls = (where.reuse_port, where.tls) if isinstance(where, DataListener) else (False, None)
    context = None if tls is None else _tls_context(tls)
    sockets = await asyncio.get_running_loop().create_server(
        server, where.host, where.port, backlog=_BACKLOG, reuse_port=reuse_port or None, ssl=context
    )
    return Listener(server, sockets, context)


def _accept_waiting(listening: socket.socket) -> list[socket.socket]:
    """Close a listening socket; returns the connections that nobody has accepted yet."""
    waiting = []
    with listening, suppress(OSError):
        listening.settimeout(0)
        while True:
            waiting.append(listening.accept()[0])
    return waiting


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


async def _wait(event: Coroutine[None, None, object], ends_at: float) -> bool:
    """Wait for an event; False if it did not happen in time."""
    try:
        async with asyncio.timeout_at(ends_at):
            await event
    except TimeoutError:
        return False
    return True
