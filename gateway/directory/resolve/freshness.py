"""The rules for using a cached binding: while the feed of changes covers it, or while it is young.

The feed is polled once a second (`resolve.feed`). An answer announces every change that was made before its
poll began, and every announced app is invalidated; the rest of the cache is therefore correct as of that
time. A binding is fresh

- while the last answer of the feed is younger than `SILENCE_MS` (and than `fresh_ms`), if the binding was
  looked up in this epoch of the feed and has not expired since. It is then never read again;
- for `CacheRetention.fresh_ms` after its lookup, even if the feed falls silent.

An answer of the feed that may be incomplete begins a new epoch: bindings from earlier epochs are looked up
again before their next use. A change that failed here may have been applied: the bindings of its app expire.

While the store is down, a binding is used for `fresh_ms` and `stale_ms` after the store last confirmed it, by
the feed or by a lookup, and each token tries the store once a second. A binding from an earlier epoch may be
one whose revocation the feed lost, so without a newer lookup it is used for `fresh_ms` only (D160). The same
holds if the last answer before the outage confirmed nothing within `SILENCE_MS`: an announcement that it was
still waiting for may have been lost.
"""

from backends.clock import Clock
from gateway.directory.resolve.cache import CachedBinding
from gateway.directory.retention import CacheRetention
from gateway.domain.model import Binding

SILENCE_MS = 2000
"""A replica learns of a change, or knows that its feed is silent, within this time."""

_RETRY_MS = 1000
_NEVER_MS = -(2**53)


class Freshness:
    """Judges the bindings of one cache. Times are monotonic."""

    def __init__(self, retention: CacheRetention, clock: Clock) -> None:
        self._retention = retention
        self._now_ms = clock.monotonic_ms
        self._feed_ms = min(SILENCE_MS, retention.fresh_ms)
        self._epoch = 0
        self._confirmed_ms = self._confirmed_before_epoch_ms = _NEVER_MS
        self._is_behind = False

    def feed_confirmed(self, as_of_ms: int, *, is_complete: bool, lag_ms: int = 0) -> None:
        """Notes that the feed has announced every change before `as_of_ms`, or may have missed some.

        The answer that says so is for a poll that began `lag_ms` later.
        """
        self._is_behind = lag_ms >= SILENCE_MS
        if not is_complete:
            self._epoch += 1
            self._confirmed_before_epoch_ms = self._confirmed_ms
        self._confirmed_ms = as_of_ms

    def looked_up(self, binding: Binding, version: str, began_ms: int) -> CachedBinding:
        """Returns a binding for the cache, as read from the record of `version`.

        Its age counts from the beginning of the lookup, so a pause of the process does not extend its use.
        """
        fresh_until_ms = began_ms + self._retention.fresh_ms
        return CachedBinding(binding, version, self._epoch, began_ms, fresh_until_ms)

    def is_fresh(self, cached: CachedBinding) -> bool:
        """Returns whether it may be used without a lookup."""
        if cached.epoch != self._epoch:
            return False
        now_ms = self._now_ms()
        if cached.covered_by_feed and now_ms < self._confirmed_ms + self._feed_ms:
            return True
        return now_ms < cached.fresh_until_ms

    def expire(self, cached: CachedBinding) -> None:
        """Requires a lookup before the next use; while the store is down the binding may still be used."""
        # `may_be_stale` is sticky: once a gap of the feed, or a feed that is behind, has passed over the
        # binding, only a new lookup (it makes a new CachedBinding) allows the long use in an outage again.
        is_covered = cached.epoch == self._epoch and not self._is_behind
        cached.may_be_stale = cached.may_be_stale and is_covered
        # Up to now every answer of the feed confirmed the binding implicitly. Later ones no longer do, so the
        # last one is written down: that of the binding's own epoch, because an answer that begins an epoch
        # does not say what happened before it.
        if cached.covered_by_feed:
            cached.confirmed_ms = max(cached.confirmed_ms, self._last_confirmed_in(cached.epoch))
            cached.covered_by_feed = False
        # In the current epoch `fresh_until_ms` alone decides, and `usable_during_outage` may raise it.
        cached.epoch, cached.fresh_until_ms = self._epoch, _NEVER_MS

    def _last_confirmed_in(self, epoch: int) -> int:
        """Returns the time of the feed's last answer in an epoch; only that of the last two is known."""
        if epoch == self._epoch:
            return self._confirmed_ms
        return self._confirmed_before_epoch_ms if epoch == self._epoch - 1 else _NEVER_MS

    def invalidate(self, cached: CachedBinding) -> None:
        """Forbids any further use, even while the store is down."""
        self.expire(cached)
        cached.confirmed_ms = _NEVER_MS

    def usable_during_outage(self, cached: CachedBinding) -> bool:
        """Returns whether it may be used while the store is down; if so, it is fresh for one second."""
        self.expire(cached)
        now_ms = self._now_ms()
        until_ms = cached.confirmed_ms + self._retention.fresh_ms
        if cached.may_be_stale:
            until_ms += self._retention.stale_ms
        cached.fresh_until_ms = min(now_ms + _RETRY_MS, until_ms)
        return now_ms < until_ms
