"""How often an address may ask. Many addresses are remembered; the one unseen for longest goes first."""

from cachetools import LRUCache

from backends.clock import Clock
from gateway.domain.rules import WINDOW_MS
from gateway.http.admission import client_of

_MOST_ADDRESSES = 10_000


class AddressRateLimiter:
    """Counts requests in windows of a minute, which open at an address's first request (D181)."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._windows: LRUCache[str, tuple[int, int]] = LRUCache(_MOST_ADDRESSES)

    def admit(self, peer: str) -> int | None:
        """Count a request. None if it may pass, else the seconds to the end of the window."""
        address, now_ms = client_of(peer), self._clock.monotonic_ms()
        ends_at_ms, count = self._windows.get(address, (0, 0))
        if ends_at_ms <= now_ms:
            ends_at_ms, count = now_ms + WINDOW_MS, 0
        if count >= self._most:
            return -((now_ms - ends_at_ms) // 1000)
        self._windows[address] = ends_at_ms, count + 1
        return None
