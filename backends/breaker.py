"""Circuit breaker: opens after five consecutive failures, then admits one probe per second (D90)."""

from collections.abc import Callable

from backends.errors import BackendError, BackendUnavailable

FAILURES_TO_OPEN = 5
PROBE_EVERY_MS = 1000


class Breaker:
    """The circuit breaker of one server. `now_ms` is a monotonic clock.

    While it is open, calls fail in microseconds instead of at their deadline, and a recovering server does
    not get all calls at the same time. Any success closes it, of a probe or of a call that was in flight when
    it opened. A probe whose outcome is never reported (its caller was cancelled) blocks nothing: the next
    probe is due a second later in any case.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._failures = 0
        self._next_probe_ms = 0
        self._last_reason = ""
        self.is_open = False
        """True if all calls except probes are refused."""

    def admit(self) -> None:
        """Raises BackendUnavailable while the breaker is open, unless this call is the probe."""
        if not self.is_open:
            return
        now_ms = self._now_ms()
        if now_ms < self._next_probe_ms:
            raise BackendUnavailable(f"the circuit breaker is open: {self._last_reason}")
        self._next_probe_ms = now_ms + PROBE_EVERY_MS

    def succeeded(self) -> None:
        """Closes the breaker: the server answered."""
        self._failures = 0
        self.is_open = False

    def failed(self, error: BackendError) -> None:
        """Counts a failure: the server did not answer, or answered that it cannot serve."""
        self._failures += 1
        self._last_reason = str(error)
        if self._failures == FAILURES_TO_OPEN:  # failures of calls in flight do not postpone the probe
            self.is_open = True
            self._next_probe_ms = self._now_ms() + PROBE_EVERY_MS
