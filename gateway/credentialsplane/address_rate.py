"""Limits the requests of each client address per minute."""

from backends.clock import Clock
from gateway.domain.rules import WINDOW_MS
from gateway.domain.windows import WindowedCounts
from gateway.http.admission import client_of

_MAX_ADDRESSES = 10_000


class AddressRateLimiter:
    """Admits `limit` requests of an address in a window of a minute, which opens at its first request."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._counts = WindowedCounts(clock.monotonic_ms, window_ms=WINDOW_MS, max_keys=_MAX_ADDRESSES)

    def admit(self, peer: str) -> int | None:
        """Counts a request. Returns None if it is admitted, else the seconds until the window closes."""
        address = client_of(peer)
        if self._counts.count(address) >= self._limit:
            return -(-self._counts.closes_in_ms(address) // 1000)
        self._counts.add(address)
        return None
