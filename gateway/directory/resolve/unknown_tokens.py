"""Limits the lookups that invented tokens cause (D148).

A well-formed token that is in no cache costs a read of the store, and nobody is charged for it. So each
caller has a budget of unknown tokens per window. Once it is spent, a token that is not cached is looked up
only when the caller sends it a second time: invented tokens are rarely repeated, and a new real token works
at its second call. Repetitions have a second budget of the same size, against callers that invent and repeat.

Tokens that are found cost nothing: after a restart every token is new to the replica. Cached tokens never
reach the limiter, and tokens that the feed has announced are known. All state is bounded; an evicted caller
or token starts over.
"""

from collections.abc import Callable

from cachetools import LRUCache

from gateway.domain.windows import WindowedCounts

MAX_UNKNOWN = 100
"""Unknown tokens looked up per caller, window and replica; the same number again for repeated ones."""

_WINDOW_MS = 60_000
_MAX_CALLERS = 10_000
_MAX_TOKENS = 10_000


class UnknownTokenLimiter:
    """Budgets of unknown tokens by caller. `now_ms` is monotonic."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._unknown = WindowedCounts(now_ms, window_ms=_WINDOW_MS, max_keys=_MAX_CALLERS)
        self._sent_once: LRUCache[tuple[str, bytes], None] = LRUCache(_MAX_TOKENS)
        self._known: LRUCache[bytes, None] = LRUCache(_MAX_TOKENS)

    def mark_known(self, digest: bytes) -> None:
        """Exempts a token that exists or existed."""
        self._known[digest] = None

    def may_look_up(self, caller: str, digest: bytes) -> bool:
        """Returns whether the caller may cause a lookup of a token that is not cached."""
        unknown = self._unknown.count(caller)
        if unknown < MAX_UNKNOWN or digest in self._known:
            return True
        if (caller, digest) in self._sent_once:
            return unknown < 2 * MAX_UNKNOWN
        self._sent_once[caller, digest] = None
        return False

    def charge(self, caller: str) -> None:
        """Charges the caller for a lookup that found no token."""
        self._unknown.add(caller)
