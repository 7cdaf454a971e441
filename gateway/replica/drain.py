"""Drain: a replica that ends fails no request and loses no count (D70). All state is here; handlers ask it.

Graceful shutdown has four steps (`Drain.run`):

1. Not ready. `/readyz` is 503, so that load balancers send new connections elsewhere; until they have
   noticed, for `drain_seconds`, connections are still accepted. Each response closes its connection, as a
   client with a kept one would never notice. Requests that are pipelined on it are answered first.
2. The listener closes. Connections in its accept queue are taken: the kernel would reset them. Idle ones are
   closed. A request's head that is on its way may take a second more, because a request that crosses our FIN
   is answered by a reset, and then a client cannot know whether its put was applied. Where replicas share a
   port (SO_REUSEPORT), the kernel has given each handshake to one socket and resets those of a socket that
   closes, so new handshakes are first kept off it (`gateway.http.handover`).
3. Calls in flight finish; what has not when `grace_seconds` are over is answered 503 `shutting_down`.
4. A last scrape. Usage is counted in memory and ends with the process, so the ops listener stays until the
   tenant series were scraped once more, by every server that did so before: on each connection on which they
   had been scraped when the drain began, or on a new one from there if that has ended (D155). A scrape counts
   - if it began after the last call had ended: an earlier one may lack that call. So a call that still comes,
     on a connection whose head was on its way, begins the wait anew; and while calls may come, a server keeps
     the connection that it is known by;
   - once the peer's kernel has acknowledged every byte and the connection was not reset: a scraper that ran
     into its timeout drops what it has read. To tell, the response ends its connection.

   Where nobody has scraped since the start, although a scraper would have done so by now, nobody is waited
   for (D231).

SIGINT skips the waiting in steps 1 and 4.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, cast

from gateway.config.settings import ShutdownSettings

log = logging.getLogger("kvs.lifecycle")

Task = asyncio.Task[None]

WasRead = Callable[[], None]

StopListening = Callable[[float], Awaitable[None]]
"""Closes a listener to new connections, at the latest at this time of the loop."""


class CallsInFlight(set[Task]):
    """The tasks that serve a call. `on_idle` is called when the last one is discarded."""

    def __init__(self, on_idle: Callable[[], None]) -> None:
        super().__init__()
        self._on_idle = on_idle

    def discard(self, task: object) -> None:
        super().discard(cast(Task, task))
        if not self:
            self._on_idle()


class LastScrapes(asyncio.Event):
    """Set when each server that is known by a connection has scraped again; if none is known, when any has.

    `wanted` has the addresses of the peers by connection. A server keeps its connection from scrape to scrape
    until that is ended here; so one that comes on a new connection is taken for one whose own has ended.
    """

    def __init__(self, wanted: Mapping[Task, str]) -> None:
        super().__init__()
        self._missing = dict(wanted)

    def was_read(self, peer: str, connection: Task) -> None:
        """A scrape was read to its end."""
        if connection not in self._missing:
            ended = (each for each, other in self._missing.items() if other == peer and each.done())
            connection = next(ended, connection)
        self._missing.pop(connection, None)
        if not self._missing:
            self.set()


class Drain:
    """The state of a drain, and its steps. `calls` are those of the data plane.

    A server that scrapes has done so `first_scrape_ms` after the start.
    """

    def __init__(
        self, settings: ShutdownSettings, *, first_scrape_ms: int, now_ms: Callable[[], int]
    ) -> None:
        self._settings = settings
        self._now_ms = now_ms
        self._first_scrape_by_ms = now_ms() + first_scrape_ms
        self._was_scraped = False
        self._is_draining = False
        self._is_closed = False
        self._was_called = False
        """While draining."""
        self._idle = asyncio.Event()
        self._scrapers: dict[Task, str] = {}
        """Connections on which the tenant series were scraped, and the addresses of their peers."""
        self._wanted: dict[Task, str] = {}
        self._scraped = LastScrapes(self._wanted)
        self.calls = CallsInFlight(self._note_idle)

    def is_draining(self) -> bool:
        """Whether a drain has begun; only the process's end ends it."""
        return self._is_draining

    def begin_scrape(self, peer: str, connection: Task) -> WasRead | None:
        """A scrape begins. Returns what to call once it was read, if it may be the last one."""
        self._was_scraped = True
        if self._is_draining:
            is_known = connection in self._wanted
            is_too_early = is_known and self._may_be_called()
            return None if is_too_early else partial(self._scraped.was_read, peer, connection)
        if connection not in self._scrapers:
            self._scrapers[connection] = peer
            connection.add_done_callback(self._scrapers.pop)
        return None

    async def run(self, stop_listening: StopListening) -> None:
        """Graceful shutdown: all four steps, in at most `grace_seconds`."""
        ends_at = asyncio.get_running_loop().time() + self._settings.grace_seconds
        self.begin()
        await asyncio.sleep(min(self._settings.drain_seconds, self._settings.grace_seconds))
        await stop_listening(ends_at)
        self._is_closed = True
        await self._finish_calls(ends_at)
        if not self._was_scraped and self._now_ms() > self._first_scrape_by_ms:
            log.info("nobody has ever scraped the usage: not waiting for a last scrape")
            return
        fields = {"at_most_seconds": self._settings.grace_seconds}
        log.info("waiting for a last scrape", extra={"fields": fields})
        await self._wait_for_last_scrape(ends_at)

    async def finish(self, stop_listening: StopListening) -> None:
        """End once the calls in flight have ended, in at most `grace_seconds`."""
        now = asyncio.get_running_loop().time()
        self.begin()
        await stop_listening(now)
        await self._finish_calls(now + self._settings.grace_seconds)

    def begin(self) -> None:
        """Be draining from now on."""
        log.info("draining")
        self._is_draining = True
        self._wanted = self._scrapers.copy()
        self._await_new_scrapes()

    def stop_calls(self) -> None:
        """Answer every call in flight with 503 now."""
        for task in self.calls:
            task.cancel()

    def _note_idle(self) -> None:
        """Perhaps the last call has ended: the scrape to wait for is one that begins from now on."""
        if self._is_draining:
            self._was_called = True
            self._await_new_scrapes()

    def _await_new_scrapes(self) -> None:
        outdated, self._scraped = self._scraped, LastScrapes(self._wanted)
        outdated.set()  # wakes the wait for it, which then waits for the new one
        self._idle.set()

    def _may_be_called(self) -> bool:
        """Then a scrape is not the last one, and its server keeps the connection that it is known by."""
        return not self._is_closed and (self._was_called or bool(self.calls))

    async def _finish_calls(self, ends_at: float) -> None:
        while self.calls:
            self._idle.clear()
            if not await _happens(self._idle.wait(), ends_at):
                self.stop_calls()
                await asyncio.sleep(0)
                return

    async def _wait_for_last_scrape(self, ends_at: float) -> None:
        scraped = None
        while scraped is not self._scraped or self.calls:
            await self._finish_calls(ends_at)
            scraped = self._scraped
            if not await _happens(scraped.wait(), ends_at):
                return


async def _happens(event: Coroutine[Any, Any, object], ends_at: float) -> bool:
    """Wait for an event; False if it did not happen in time."""
    try:
        async with asyncio.timeout_at(ends_at):
            await event
    except TimeoutError:
        return False
    return True
