"""One making of a value at a time for each key: whoever asks meanwhile waits for the same one."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from kvs_client import forks


class SingleFlight:
    """For threads."""

    def __init__(self) -> None:
        self.renew()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Nobody is under way in a new process."""
        self._lock = threading.Lock()
        self._flights: dict[str, Future[Any]] = {}

    def run(self, key: str, make: Callable[[], Any]) -> Any:
        """What `make` returns or raises, here or on the thread that was first."""
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if flight is None:
                    mine = self._flights[key] = Future[Any]()
                    break
            try:
                return flight.result()
            except CancelledError:
                continue  # the first one was interrupted
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
    """For tasks; the making is a task of its own, so that nobody who leaves takes it from the others."""

    def __init__(self) -> None:
        self.renew()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Nobody is under way in a new process."""
        self._flights: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """What `make` returns or raises, here or in the task that was first."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.ensure_future(make())
            flight.add_done_callback(lambda ended: self._land(key, ended))
        return await asyncio.shield(flight)

    def _land(self, key: str, flight: "asyncio.Task[Any]") -> None:
        del self._flights[key]
        if not flight.cancelled():
            flight.exception()  # if all have left, nobody is told, nor the log
