"""The drain: a replica that shuts down fails no request and loses no count (D70).

Graceful shutdown has four steps (`Drain.run`):

1. Not ready. `/readyz` is 503, so load balancers send new connections elsewhere. They notice within
   `drain_seconds`; until then connections are still accepted. Each response closes its connection, because a
   client with a kept connection would never leave this replica. Requests pipelined on it are answered first.
2. The listener closes. Connections in its accept queue are accepted, because the kernel would reset them.
   Idle connections are closed. A request head that is arriving gets one more second: a request that crosses
   our FIN is answered by a reset, and then the client cannot know whether its put was applied. If replicas
   share a port (SO_REUSEPORT), the kernel has assigned each handshake to one socket and resets those of a
   socket that closes, so new handshakes are steered away first (`gateway.http.handover`).
3. Calls in flight finish. Calls that are not finished after `grace_seconds` get 503 `shutting_down`.
4. A last scrape. Usage is counted in memory and ends with the process, so the ops listener stays open until
   every server that has scraped the tenant series scrapes them once more: on its known connection, or on a
   new one from the same address if the known one has ended (D70). A scrape counts under two conditions:
   - It began after the last call had ended; an earlier one may lack that call. So a late call, on a
     connection whose head was arriving, restarts the wait. As long as calls may come, the known connections
     of servers are not closed.
   - The peer's kernel has acknowledged every byte without a reset; a scraper that ran into its timeout
     discards the scrape. The response closes its connection to find out.

   If nothing has ever scraped, although the first scrape is overdue, the drain does not wait (D70).

SIGINT skips the waiting in steps 1 and 4.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from gateway.config.settings import ShutdownSettings
from gateway.dataplane.handler import CallsInFlight

log = logging.getLogger("kvs.lifecycle")

Task = asyncio.Task[None]

WasRead = Callable[[], None]

StopListening = Callable[[float], Awaitable[None]]
"""Closes a listener to new connections before this time of the event loop."""


class LastScrapes(asyncio.Event):
    """Set when every known server has scraped again; if none is known, when any server has.

    `wanted` has the peers' addresses by connection. A server keeps its connection from scrape to scrape until
    one side closes it, and then returns on a new one. On new connections, servers of the same address cannot
    be distinguished. So if a missing server has no connection, all servers of its address without a
    connection must scrape once more, and their new connections stay open: only then has the missing server
    certainly scraped.
    """

    def __init__(self, wanted: Mapping[Task, str]) -> None:
        super().__init__()
        self._missing = dict(wanted)
        self._satisfied: dict[Task, str] = {}
        """Servers that have read their last scrape, with their latest connection."""

    def begin(self, peer: str, connection: Task) -> WasRead | None:
        """Returns a function to call once this scrape was read, or None if it cannot be the last one."""
        if connection not in self._missing and self._has_returned(peer, connection):
            return None
        return None if _ended(self._missing, peer) else partial(self._was_read, peer, connection)

    def _has_returned(self, peer: str, connection: Task) -> bool:
        """Assigns a new connection to a server. Returns whether that one has read its last scrape."""
        if connection in self._satisfied:
            return True
        if _ended(self._missing, peer):
            for each in _ended(self._satisfied, peer):
                self._missing[each] = self._satisfied.pop(each)
            del self._missing[_ended(self._missing, peer)[0]]
            self._missing[connection] = peer
            return False
        returned = _ended(self._satisfied, peer)
        if returned:
            del self._satisfied[returned[0]]
            self._satisfied[connection] = peer
        return bool(returned)

    def _was_read(self, peer: str, connection: Task) -> None:
        if self._missing.pop(connection, None) is not None:
            self._satisfied[connection] = peer
        if not self._missing:
            self.set()


def _ended(connections: Mapping[Task, str], peer: str) -> list[Task]:
    """Returns the connections of a peer that have ended."""
    return [each for each, other in connections.items() if other == peer and each.done()]


class Drain:
    """The state of a drain and its steps. `calls` are those of the data plane.

    A server that scrapes this replica does so within `first_scrape_ms` of the start.
    """

    def __init__(
        self, settings: ShutdownSettings, *, first_scrape_ms: int, now_ms: Callable[[], int]
    ) -> None:
        self._settings = settings
        self._now_ms = now_ms
        self._first_scrape_by_ms = now_ms() + first_scrape_ms
        self._was_scraped = False
        self.begun = asyncio.Event()
        """Set for good when a drain begins."""
        self._is_closed = False
        self._was_called = False
        """A call has ended while draining."""
        self._idle = asyncio.Event()
        self._scrapers: dict[Task, str] = {}
        """Connections that have scraped the tenant series, with the addresses of their peers."""
        self._wanted: dict[Task, str] = {}
        self._scraped = LastScrapes(self._wanted)
        self.calls = CallsInFlight()

    def begin_scrape(self, peer: str, connection: Task) -> WasRead | None:
        """Notes that a scrape begins. If it may be the last, returns a function to call once it was read."""
        self._was_scraped = True
        if self.begun.is_set():
            # The callback belongs to the `LastScrapes` of this moment. When a call ends while the scrape is
            # being read, that object is replaced, so the scrape, which lacks the call, counts for nothing.
            # A known connection is not closed while calls may come: its server would have to return on a new
            # one, which looks like that of any other server of the same address.
            is_known = connection in self._wanted
            is_too_early = is_known and self._may_be_called()
            return None if is_too_early else self._scraped.begin(peer, connection)
        if connection not in self._scrapers:
            self._scrapers[connection] = peer
            connection.add_done_callback(self._scrapers.pop)
        return None

    async def run(self, stop_listening: StopListening) -> None:
        """Shuts down gracefully: all four steps, in at most `grace_seconds`."""
        ends_at = asyncio.get_running_loop().time() + self._settings.grace_seconds
        self.begin()
        await asyncio.sleep(min(self._settings.drain_seconds, self._settings.grace_seconds))
        await stop_listening(ends_at)
        self._is_closed = True
        await self._finish_calls(ends_at)
        if not self._was_scraped and self._now_ms() > self._first_scrape_by_ms:
            log.info("usage was never scraped: not waiting for a last scrape")
            return
        fields = {"at_most_seconds": self._settings.grace_seconds}
        log.info("waiting for a last scrape", extra={"fields": fields})
        await self._wait_for_last_scrape(ends_at)

    async def finish(self, stop_listening: StopListening) -> None:
        """Shuts down once the calls in flight have ended, in at most `grace_seconds`."""
        now = asyncio.get_running_loop().time()
        self.begin()
        await stop_listening(now)
        await self._finish_calls(now + self._settings.grace_seconds)

    def begin(self) -> None:
        """Begins the drain."""
        log.info("draining")
        self.begun.set()
        self.calls.watch(self._note_idle)
        self._wanted = self._scrapers.copy()
        self._await_new_scrapes()

    def stop_calls(self) -> None:
        """Cancels every call in flight, which answers 503."""
        for task in self.calls:
            task.cancel()

    def _note_idle(self) -> None:
        """Restarts the wait: only a scrape that begins now contains the call that has ended."""
        self._was_called = True
        self._await_new_scrapes()

    def _await_new_scrapes(self) -> None:
        outdated, self._scraped = self._scraped, LastScrapes(self._wanted)
        outdated.set()  # wakes its waiter, which then waits for the new one
        self._idle.set()

    def _may_be_called(self) -> bool:
        """Returns whether calls may still come, so that no scrape can be the last one."""
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
    """Waits for an event. Returns False on timeout."""
    try:
        async with asyncio.timeout_at(ends_at):
            await event
    except TimeoutError:
        return False
    return True
