"""DynamoDB's time, as the dates of its responses show it (D140)."""

from email.utils import parsedate_to_datetime

from backends.clock import Clock
from backends.errors import BackendUnavailable

_DATE_MS = 1000
"""A date is cut to its second."""

_DRIFT_PER_MS = 1 / 2000
"""How much faster or slower than DynamoDB's this machine's clock may run: 43 s a day, more than any does."""

_KNOWN_FOR_MS = 60_000
"""Without another response. A check of health asks every second."""


class StoreTime:
    """How far DynamoDB's wall clock is ahead of this machine's monotonic one, between two bounds.

    A response that was asked for at `asked`, came at `answered` and is dated `date` was made in between, at a
    time of DynamoDB's from `date` on and before `date` + 1 s. So the lead is more than `date - answered` and
    less than `date + 1 s - asked`. Each response narrows the bounds of those before: the first one leaves a
    second and its round trip, a hundred at any times leave little more than a round trip. Where nothing is
    left between them, one of the two clocks was set, and the newest response counts alone.
    """

    def __init__(self, clock: Clock) -> None:
        self.monotonic_ms = clock.monotonic_ms
        self._wall_ms = clock.wall_ms
        self._least = self._most = 0.0
        self._noted_at_ms: int | None = None

    @property
    def uncertainty_ms(self) -> float:
        """Between the bounds; the time told is off by half of it at the most."""
        return self._most - self._least

    def note(self, date: str | None, asked_ms: int) -> None:
        """Learn from a response that came now; `asked_ms` is on the monotonic clock."""
        answered_ms = self.monotonic_ms()
        try:
            date_ms = parsedate_to_datetime(date or "").timestamp() * 1000
        except (ValueError, OverflowError):
            return
        least, most = date_ms - answered_ms, date_ms + _DATE_MS - asked_ms
        if self._noted_at_ms is not None:
            drift = max(answered_ms - self._noted_at_ms, 0) * _DRIFT_PER_MS
            narrowed = max(least, self._least - drift), min(most, self._most + drift)
            if narrowed[0] <= narrowed[1]:
                least, most = narrowed
        self._least, self._most, self._noted_at_ms = least, most, answered_ms

    def now_ms(self) -> int:
        """Milliseconds since 1970 by DynamoDB's clock. Raises BackendUnavailable while that is not known."""
        monotonic_ms = self.monotonic_ms()
        if self._noted_at_ms is None or monotonic_ms - self._noted_at_ms > _KNOWN_FOR_MS:
            raise BackendUnavailable("the time of DynamoDB is not known")
        return round(monotonic_ms + (self._least + self._most) / 2)

    def best_ms(self) -> int:
        """DynamoDB's time, or this machine's while that is not known."""
        try:
            return self.now_ms()
        except BackendUnavailable:
            return self._wall_ms()

    def lead_seconds(self) -> float | None:
        """How far this machine's wall clock is ahead of DynamoDB's; None while that is not known."""
        try:
            return (self._wall_ms() - self.now_ms()) / 1000
        except BackendUnavailable:
            return None
