"""The clocks that stores and policies are given; nothing below `gateway.app` reads the time itself."""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """Wall time for what clients see (expiry, signatures), monotonic time for everything else."""

    def wall_ms(self) -> int:
        """Returns milliseconds since 1970-01-01T00:00:00Z; may jump."""
        ...

    def monotonic_ms(self) -> int:
        """Returns milliseconds since an arbitrary start; never jumps."""
        ...

    def boot_seconds(self) -> float:
        """Returns seconds since an arbitrary start; also counts while the machine is suspended."""
        ...


boot_seconds: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic
)
"""Returns seconds that also count while the machine is suspended. Not wrapped in a function, because each
write calls it."""


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    boot_seconds = staticmethod(boot_seconds)
