"""Window counters in memory, on the monotonic clock."""

import heapq
from collections.abc import Callable

from backends.interface import Charge


class _Window:
    __slots__ = ("charges", "closes_at_ms")

    def __init__(self, closes_at_ms: int) -> None:
        self.charges = 0
        self.closes_at_ms = closes_at_ms


class MemoryWindowCounter:
    """A `WindowCounter` for one replica. Closed windows are removed as new ones open."""

    def __init__(self, *, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._windows: dict[str, _Window] = {}
        self._closing: list[tuple[int, str]] = []

    async def charge(self, bucket: str, limit: int, window_ms: int) -> Charge:
        now_ms = self._now_ms()
        window = self._windows.get(bucket)
        if window is None or window.closes_at_ms <= now_ms:
            window = self._open(bucket, now_ms, window_ms)
        admitted = window.charges < limit
        if admitted:
            window.charges += 1
        return Charge(admitted, window.closes_at_ms - now_ms)

    def _open(self, bucket: str, now_ms: int, window_ms: int) -> _Window:
        while self._closing and self._closing[0][0] <= now_ms:
            self._windows.pop(heapq.heappop(self._closing)[1], None)
        window = self._windows[bucket] = _Window(now_ms + window_ms)
        heapq.heappush(self._closing, (window.closes_at_ms, bucket))
        return window
