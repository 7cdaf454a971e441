"""Durations on a machine that others keep busy."""

import time
from pathlib import Path

PATIENCE_SECONDS = 60.0
"""How long a test waits for what has to come, where how soon it comes is not what it is about."""


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
