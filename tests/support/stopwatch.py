"""Durations on a machine that others keep busy."""

import time
from pathlib import Path

_QUEUE = Path("/proc/thread-self/schedstat")


class Stopwatch:
    """Seconds since it was made, without those that this thread was ready to run and had no processor.

    Only Linux counts these. For upper bounds: where a deadline ran meanwhile, less is left than has passed.
    """

    def __init__(self) -> None:
        self._queued = _queued_seconds()
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began - (_queued_seconds() - self._queued)


def _queued_seconds() -> float:
    """Nanoseconds on a processor, those in the queue for one, and how often it got one."""
    try:
        return int(_QUEUE.read_text().split()[1]) / 1e9
    except OSError:
        return 0.0
