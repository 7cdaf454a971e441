"""Counts by key in fixed windows, bounded in memory."""

from collections.abc import Callable

from cachetools import LRUCache


class WindowedCounts:
    """Counts by key. A key's window opens at the first count after its previous window has closed.

    At most `max_keys` keys are kept; the least recently used one is evicted and starts over at 0. `now_ms` is
    monotonic.
    """

    def __init__(self, now_ms: Callable[[], int], *, window_ms: int, max_keys: int) -> None:
        self._now_ms = now_ms
        self._window_ms = window_ms
        self._windows: LRUCache[str, tuple[int, int]] = LRUCache(max_keys)
        """End of the window and count, by key."""

    def count(self, key: str) -> int:
        """Returns the count of the key's open window, 0 if none is open."""
        ends_at_ms, count = self._windows.get(key, (0, 0))
        return count if self._now_ms() < ends_at_ms else 0

    def add(self, key: str) -> None:
        """Counts the key once and opens a window if none is open."""
        now_ms = self._now_ms()
        ends_at_ms, count = self._windows.get(key, (0, 0))
        if now_ms >= ends_at_ms:
            ends_at_ms, count = now_ms + self._window_ms, 0
        self._windows[key] = ends_at_ms, count + 1

    def closes_in_ms(self, key: str) -> int:
        """Returns the time until the key's window closes; 0 or less if none is open."""
        ends_at_ms, _ = self._windows.get(key, (0, 0))
        return ends_at_ms - self._now_ms()
