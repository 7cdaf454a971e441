"""The clocks that stores and policies are given; nothing below `gateway.app` reads the time itself."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for what clients see (expiry, signatures), monotonic time for everything else."""

    def wall_ms(self) -> int:
        """Returns milliseconds since 1970-01-01T00:00:00Z; may jump."""
        ...

    def monotonic_ms(self) -> int:
        """Returns milliseconds since an arbitrary start; never jumps."""
        ...


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
