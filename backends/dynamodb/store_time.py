"""DynamoDB's clock, derived from the dates of its responses (D140)."""

from email.utils import parsedate_to_datetime

from backends.clock import Clock
from backends.errors import BackendUnavailable

_DATE_MS = 1000
"""Resolution of a Date header, which is truncated to its second."""

_DRIFT_PER_MS = 1 / 2000
"""Assumed bound of drift between the clocks: 43 s a day."""

_KNOWN_FOR_MS = 60_000
"""Validity of the estimate without another response. Health checks call every second."""


class StoreTime:
    """Bounds of the lead of DynamoDB's wall clock over the local monotonic clock.

    A response requested at `asked` and received at `answered` was made in between, at a DynamoDB time in
    [`date`, `date` + 1 s). The lead is therefore more than `date - answered` and less than
    `date + 1 s - asked`. Each response narrows the bounds: the first leaves a second plus its round trip, a
    hundred leave little more than one round trip. If the bounds contradict each other, one of the clocks was
    set, and the newest response counts alone.
    """

    def __init__(self, clock: Clock) -> None:
        self.monotonic_ms = clock.monotonic_ms
        self._wall_ms = clock.wall_ms
        self._least = self._most = 0.0
        self._noted_at_ms: int | None = None

    @property
    def uncertainty_ms(self) -> float:
        """Distance between the bounds; the estimate is off by at most half of it."""
        return self._most - self._least

    def note(self, date: str | None, asked_ms: int) -> None:
        """Narrows the bounds by a response received now; `asked_ms` is on the monotonic clock."""
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
        """Returns DynamoDB's time in Unix milliseconds. Raises BackendUnavailable while it is unknown."""
        monotonic_ms = self.monotonic_ms()
        if self._noted_at_ms is None or monotonic_ms - self._noted_at_ms > _KNOWN_FOR_MS:
            raise BackendUnavailable("DynamoDB's time is unknown")
        return round(monotonic_ms + (self._least + self._most) / 2)

    def best_ms(self) -> int:
        """Returns DynamoDB's time, or the local wall clock while it is unknown."""
        try:
            return self.now_ms()
        except BackendUnavailable:
            return self._wall_ms()

    def lead_seconds(self) -> float | None:
        """Returns the lead of the local wall clock over DynamoDB's; None while unknown."""
        try:
            return (self._wall_ms() - self.now_ms()) / 1000
        except BackendUnavailable:
            return None
