"""An event loop whose clock jumps to whatever is due next. It knows no sockets, threads or signals."""

import asyncio
from asyncio.base_events import BaseEventLoop
from collections.abc import Coroutine
from typing import Any


class Stuck(Exception):
    """Everything waits and nothing is due: on a real loop this would wait for ever."""


class _Timers:
    """Stands where a loop has its selector: waiting is moving the clock."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(BaseEventLoop):
    """`time()` is in seconds from 0."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self._timers = _Timers()

    def time(self) -> float:
        return self._timers.now

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nothing sleeps that would have to be woken."""


def run_in_no_time(main: Coroutine[Any, Any, Any]) -> Any:
    """The result of `main`; tasks that it leaves are cancelled. What the loop complains of is raised."""
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
