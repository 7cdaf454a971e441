"""The deadline of a connection."""

import asyncio
from collections.abc import Callable


class Deadline:
    """The one deadline of a connection. Setting another replaces it.

    Most deadlines are never reached: a response sets one, and the next request clears it. So the timer is
    left alone, and checks when it fires whether the deadline has moved. An earlier one needs a new timer.
    """

    __slots__ = ("_at", "_late", "_loop", "_timer", "_timer_at")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._late: Callable[[], object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._at = self._timer_at = 0.0

    def set(self, seconds: float, late: Callable[[], object]) -> None:
        """Sets the deadline: `late` is called after so many seconds."""
        self._late = late
        self._at = self._loop.time() + seconds
        if self._timer is None:
            self._start()
        elif self._at < self._timer_at:
            self._timer.cancel()
            self._start()

    def clear(self) -> None:
        """Clears the deadline."""
        self._late = None

    def close(self) -> None:
        """Clears the deadline and cancels the timer, for good."""
        self._late = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        self._timer_at = self._at
        self._timer = self._loop.call_at(self._at, self._fire)

    def _fire(self) -> None:
        self._timer = None
        late = self._late
        if late is None:
            return
        if self._loop.time() < self._at:
            self._start()
            return
        self._late = None
        late()
