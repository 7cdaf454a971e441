"""Durations on a machine that others keep busy."""

import asyncio
import time
from bisect import bisect_left
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Self

PATIENCE_SECONDS = 60.0
"""Seconds that a test waits for an expected event if its speed is not the subject."""


class Stopwatch:
    """Seconds since it was made, without those that a thread was ready to run and had no processor.

    Counted are those of this thread, and of the main threads of other processes that the test waits for.
    Only Linux counts them. For upper bounds: where a deadline ran meanwhile, less is left than has passed.
    """

    def __init__(self, *pids: int) -> None:
        self._queues = [Path("/proc", each, "schedstat") for each in ("thread-self", *map(str, pids))]
        self._queued = self._queued_seconds()
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began - (self._queued_seconds() - self._queued)

    def _queued_seconds(self) -> float:
        return sum(map(_queued_seconds, self._queues))


def _queued_seconds(queue: Path) -> float:
    """Nanoseconds on a processor, those in the queue for one, and how often it got one."""
    try:
        return int(queue.read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


TICK_SECONDS = 0.005
_TICKS_PER_LIST = 20
"""The list of processes is read less often than their figures."""
_MOMENT_SECONDS = 0.5
"""Longer than a call takes whose deadline passes."""


class HeldUp:
    """For how many seconds this process and those it started were kept from their work, while the block runs.

    This one by whatever its loop did between two ticks, the others while they had no processor to run on.
    """

    def __init__(self) -> None:
        self.total = 0.0
        self.longest = 0.0
        """The most within a moment, which is what one call may have met with."""
        self._recent: deque[tuple[float, float]] = deque()
        self._history: list[tuple[float, float]] = []
        self._queued: dict[str, float] = {}
        self._ticks = 0

    async def __aenter__(self) -> Self:
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching

    def since(self, began: float) -> float:
        """Returns the seconds since a moment of the monotonic clock, to within two ticks."""
        before = bisect_left(self._history, (began,)) - 1
        return self.total - (self._history[before][1] if before >= 0 else 0.0)

    async def _watch(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            late = now - began - TICK_SECONDS
            self._note(now, self._newly_queued() + (late if late > TICK_SECONDS else 0.0))

    def _note(self, now: float, seconds: float) -> None:
        self.total += seconds
        self._recent.append((now, self.total))
        self._history.append((now, self.total))
        while now - self._recent[0][0] > _MOMENT_SECONDS:
            self._recent.popleft()
        self.longest = max(self.longest, seconds, self.total - self._recent[0][1])

    def _newly_queued(self) -> float:
        known = self._queued
        pids = known if self._ticks % _TICKS_PER_LIST else _children()
        self._ticks += 1
        self._queued = {pid: _queued_seconds(Path("/proc", pid, "schedstat")) for pid in pids}
        return sum(max(self._queued[pid] - known[pid], 0.0) for pid in self._queued.keys() & known.keys())


def _children() -> list[str]:
    """Children of all threads of this process: a child belongs to the thread that started it."""
    try:
        return [
            pid
            for each in Path("/proc/self/task").iterdir()
            for pid in (each / "children").read_text().split()
        ]
    except OSError:
        return []
