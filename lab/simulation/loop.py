"""An event loop whose clock jumps to the next timer, without sockets, threads or signals."""

import asyncio
from asyncio.base_events import BaseEventLoop
from collections.abc import Coroutine
from typing import Any


class Stuck(Exception):
    """Every task waits and no timer is due: on a real loop this would wait forever."""


class _Timers:
    """Replaces the selector of the loop: waiting moves the clock."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(BaseEventLoop):
    """A loop whose `time()` is in seconds from 0."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self._timers = _Timers()

    def time(self) -> float:
        return self._timers.now

    def _process_events(self, event_list: list[Any]) -> None:
        """Does nothing: there are no signals."""

    def _write_to_self(self) -> None:
        """Does nothing: no thread sleeps."""


def run_in_no_time(main: Coroutine[Any, Any, Any]) -> Any:
    """Returns the result of `main`, cancels its remaining tasks, and raises errors reported to the loop."""
    loop = VirtualLoop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    try:
        result = loop.run_until_complete(main)
        loop.run_until_complete(_end_what_is_left())
        assert complaints == []
        return result
    finally:
        loop.close()


async def _end_what_is_left() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
