"""Spares a store that keeps failing, and its callers the wait."""

from collections.abc import Callable

from backends.errors import BackendError, BackendUnavailable

FAILURES_TO_OPEN = 5
PROBE_EVERY_MS = 1000


class Breaker:
    """Opens after failures in a row; while open, lets one call a second try. `now_ms` is monotonic."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._failures = 0
        self._next_probe_ms = 0
        self._last_fault = ""

    @property
    def is_open(self) -> bool:
        """Whether calls are refused, but for probes."""
        return self._failures >= FAILURES_TO_OPEN

    def admit(self) -> None:
        """Raises BackendUnavailable if the store is to be left alone."""
        if not self.is_open:
            return
        now_ms = self._now_ms()
        if now_ms < self._next_probe_ms:
            raise BackendUnavailable(f"left alone for a moment after failures in a row: {self._last_fault}")
        self._next_probe_ms = now_ms + PROBE_EVERY_MS

    def succeeded(self) -> None:
        """The store answered: closes the breaker."""
        self._failures = 0

    def failed(self, fault: BackendError) -> None:
        """The store did not answer, or said that it cannot."""
        self._failures += 1
        self._last_fault = str(fault)
        if self._failures == FAILURES_TO_OPEN:
            self._next_probe_ms = self._now_ms() + PROBE_EVERY_MS
