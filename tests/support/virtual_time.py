"""An event loop whose clock stands still while there is work, and hurries when everybody waits.

For tests whose clients and servers all run on the one loop of the test: what they send each other is there at
once, so that nothing is missed when the clock moves on. How fast the machine is makes no difference to it.
What is for a thread is done in the loop's, while the clock stands still. Other processes are not waited for.
"""

import asyncio
import selectors
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

TIMES_FASTER = 50
"""A loopback that is late by up to a fiftieth of a deadline does not let the deadline pass."""


class _HurryingSelector(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if events := super().select(0):
            return events
        if timeout is None:
            return super().select(None)
        began = time.monotonic()
        events = super().select(timeout / TIMES_FASTER)
        passed = (time.monotonic() - began) * TIMES_FASTER
        self.now += min(passed, timeout) if events else timeout
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`time()` is in seconds from 0."""

    def __init__(self) -> None:
        self._hurrying = _HurryingSelector()
        super().__init__(self._hurrying)

    def time(self) -> float:
        return self._hurrying.now

    def run_in_executor(
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done
