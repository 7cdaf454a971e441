"""A bound on what invented tokens cost (D148).

A well-formed token that is in no cache is looked up in the store, and nobody is charged for it. So each
caller has a budget of tokens that turned out to be none, per window. Beyond it a token is not looked up when
it is sent for the first time, only when it is sent again: invented ones are not, and a new one that is real
works at its second call. Repetitions have a second budget of the same size, for those who invent and repeat.

Tokens that are found cost nothing, however many: after a restart all of them are new. Those in the cache
never come here, and those that the feed of changes has told are no strangers. What is kept is bounded; a
caller or a token that was forgotten begins anew.
"""

from collections.abc import Callable

from cachetools import LRUCache
from msgspec import Struct

MAX_UNKNOWN = 100
"""Tokens per caller, window and replica that are looked up and are none; as many again if repeated."""

_WINDOW_MS = 60_000
_REMEMBERED_CALLERS = 10_000
_REMEMBERED_TOKENS = 10_000


class _Window(Struct):
    ends_at_ms: int
    unknown: int = 0


class Strangers:
    """Unknown tokens, and who sends them. `now_ms` is monotonic."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._windows: LRUCache[str, _Window] = LRUCache(_REMEMBERED_CALLERS)
        self._sent_once: LRUCache[tuple[str, bytes], None] = LRUCache(_REMEMBERED_TOKENS)
        self._told: LRUCache[bytes, None] = LRUCache(_REMEMBERED_TOKENS)

    def tell(self, digest: bytes) -> None:
        """There is or was such a token: nobody has invented it."""
        self._told[digest] = None

    def may_look_up(self, caller: str, digest: bytes) -> bool:
        """Whether the store may be asked for a token that this replica does not know."""
        window = self._windows.get(caller)
        if window is None or window.unknown < MAX_UNKNOWN or self._now_ms() >= window.ends_at_ms:
            return True
        if digest in self._told:
            return True
        if (caller, digest) in self._sent_once:
            return window.unknown < 2 * MAX_UNKNOWN
        self._sent_once[caller, digest] = None
        return False

    def count(self, caller: str) -> None:
        """A token that the caller sent was looked up, and is none."""
        now_ms = self._now_ms()
        window = self._windows.get(caller)
        if window is None or now_ms >= window.ends_at_ms:
            window = self._windows[caller] = _Window(now_ms + _WINDOW_MS)
        window.unknown += 1
