"""Single flight: concurrent callers of the same key share one computation."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from kvs_client import forks


class SingleFlight:
    """Single flight for threads."""

    def __init__(self) -> None:
        self.renew()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Discards the computations of the process that forked this one: they never end here."""
        self._lock = threading.Lock()
        self._flights: dict[str, Future[Any]] = {}

    def run(self, key: str, make: Callable[[], Any]) -> Any:
        """Returns or raises the result of `make`, run here or on the thread that came first."""
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if flight is None:
                    mine = self._flights[key] = Future[Any]()
                    break
            try:
                return flight.result()
            except CancelledError:
                continue  # the thread that ran `make` was interrupted: try to take its place
        return self._lead(key, mine, make)

    def _lead(self, key: str, flight: "Future[Any]", make: Callable[[], Any]) -> Any:
        try:
            value = make()
        except Exception as error:
            self._land(key)
            flight.set_exception(error)
            raise
        except BaseException:
            self._land(key)
            flight.cancel()
            raise
        self._land(key)
        flight.set_result(value)
        return value

    def _land(self, key: str) -> None:
        with self._lock:
            del self._flights[key]


class AsyncSingleFlight:
    """Single flight for tasks. Cancelling one waiter does not affect the others: `make` has its own task."""

    def __init__(self) -> None:
        self.renew()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Discards the computations of the process that forked this one: they never end here."""
        self._flights: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Returns or raises the result of `make`, shared with all tasks that wait for it."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.ensure_future(make())
            flight.add_done_callback(lambda ended: self._land(key, ended))
        return await asyncio.shield(flight)

    def _land(self, key: str, flight: "asyncio.Task[Any]") -> None:
        del self._flights[key]
        if not flight.cancelled():
            flight.exception()  # mark it as retrieved: without waiters, asyncio would log it
