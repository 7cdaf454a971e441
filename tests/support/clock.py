"""A clock that tests move."""

YEAR_2100_MS = 4_102_444_800_000
"""For tests with real engines: these delete what has expired by the machine's clock, not by the test's."""


class FakeClock:
    """Wall and monotonic time that stand still until they are moved, together or apart."""

    def __init__(self, wall_ms: int = 1_795_132_800_000) -> None:
        self._wall_ms = wall_ms
        self._monotonic_ms = 1_000_000
        self._boot_seconds = 2_000.0

    def wall_ms(self) -> int:
        return self._wall_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def boot_seconds(self) -> float:
        return self._boot_seconds

    def stand_still(self, seconds: float) -> None:
        """Lets time pass in which the process did nothing; the other clocks need not count it."""
        self._boot_seconds += seconds

    def advance(self, ms: int) -> None:
        self._wall_ms += ms
        self._monotonic_ms += ms

    def jump_wall(self, ms: int) -> None:
        self._wall_ms += ms
