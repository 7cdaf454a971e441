"""Drain: a replica that ends fails no request and loses no count. All of its state is here; others ask.

A drain goes through four steps (`Drain.run`):

1. Not ready. `/readyz` is 503, so that whoever routes by it sends new connections elsewhere. Until it has
   noticed, for `drain_seconds`, connections are still accepted. Each response closes its connection: a client
   that kept it would never notice. Pipelined requests that have arrived are answered first.
2. The listener closes. Connections in the accept queue are taken, because the kernel would reset them. Idle
   connections are closed; one with a request's head in progress gets a second to complete it, as a request
   that crosses our FIN would be answered by a reset and a client must not repeat a POST. Where replicas
   share a port (SO_REUSEPORT) the kernel has given each handshake to one socket and resets it when that
   socket closes, so a filter first keeps new handshakes off the socket: a dropped SYN is retransmitted
   after 1 s and reaches another replica.
3. Calls in flight finish. When the grace is over, those that have not are answered 503.
4. A last scrape. Usage is counted in memory and dies with the process, so the ops listener stays until the
   tenant series were scraped after the last call. A scrape counts once the peer's kernel has acknowledged
   every byte and the connection was not reset: a scraper that timed out has thrown away what it read.
   It counts only if it began after the last call ended: one that began earlier may lack that call. So
   every call that ends later (on a connection that was in progress) begins the wait anew.

SIGINT skips the waits of steps 1 and 4.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from gateway.config.settings import ShutdownSettings

log = logging.getLogger("kvs.lifecycle")

StopListening = Callable[[float], Awaitable[None]]
"""Closes a listener to new connections, at the latest at this time of the loop."""


class Calls(Protocol):
    """The calls in flight."""

    @property
    def is_idle(self) -> bool:
        """Whether there are none."""
        ...

    def watch_idle(self, on_idle: Callable[[], None]) -> None:
        """From now on, call `on_idle` whenever the last call in flight has ended."""
        ...

    def stop(self) -> None:
        """Answer everything in flight with 503 now."""
        ...


class Drain:
    """The state of a drain, and its steps."""

    calls: Calls

    def __init__(self, settings: ShutdownSettings) -> None:
        self._settings = settings
        self._is_draining = False
        self._idle = asyncio.Event()
        self._scraped = asyncio.Event()

    def is_draining(self) -> bool:
        """Whether a drain has begun; it has no end but the process's."""
        return self._is_draining

    def begin_scrape(self) -> Callable[[], None] | None:
        """A scrape of the tenant series begins. Returns what to call once it was read, while draining."""
        return self._scraped.set if self._is_draining else None

    def begin(self) -> None:
        """Be draining from now on."""
        log.info("draining")
        self._is_draining = True
        self.calls.watch_idle(self._note_idle)
        self._note_idle()

    async def run(self, stop_listening: StopListening) -> None:
        """Graceful shutdown: all four steps, for at most `grace_seconds`."""
        ends_at = asyncio.get_running_loop().time() + self._settings.grace_seconds
        self.begin()
        await asyncio.sleep(min(self._settings.drain_seconds, self._settings.grace_seconds))
        await stop_listening(ends_at)
        await self._finish_calls(ends_at)
        fields = {"at_most_seconds": self._settings.grace_seconds}
        log.info("waiting for a last scrape", extra={"fields": fields})
        await self._wait_for_last_scrape(ends_at)

    async def finish(self, stop_listening: StopListening) -> None:
        """Wait for the calls in flight alone, for at most `grace_seconds`."""
        now = asyncio.get_running_loop().time()
        self.begin()
        await stop_listening(now)
        await self._finish_calls(now + self._settings.grace_seconds)

    def _note_idle(self) -> None:
        """Perhaps this was the last call: the scrape to wait for is one that begins from now on."""
        outdated, self._scraped = self._scraped, asyncio.Event()
        outdated.set()  # wakes who waits for it, to wait for the new one
        self._idle.set()

    async def _finish_calls(self, ends_at: float) -> None:
        while not self.calls.is_idle:
            self._idle.clear()
            if not await _happens(self._idle.wait(), ends_at):
                self.calls.stop()
                await asyncio.sleep(0)
                return

    async def _wait_for_last_scrape(self, ends_at: float) -> None:
        scraped = None
        while scraped is not self._scraped or not self.calls.is_idle:
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
