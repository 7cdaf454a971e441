"""When a remembered binding may be used: while the feed of changes vouches for it, or while it is young.

The feed is read once a second (`resolve.feed`). An answer that began at some time tells every
change that was made before, and what it tells is dropped from the cache; so all that is left is right as of
that time. Therefore a binding is fresh

- while the last answer of the feed is younger than `SILENCE_MS` (and than `fresh_ms`), if the binding was
  looked up in this epoch of the feed and has not expired since. Then it is never read again;
- for `Remembering.fresh_ms` after it was looked up, whatever the feed does: a bound on anything that a feed
  could lose.

A feed that is not sure to have told everything begins a new epoch: what was looked up before is looked up
again when it is used. A change that failed here may have been applied: the bindings of its app expire.

While the store is down, a binding is used for `fresh_ms` and `stale_ms` after the store vouched for it last,
by the feed or by a lookup, and the store is asked once a second per token. One that was looked up in an
earlier epoch, and not since, may be what the feed lost: it is used for `fresh_ms` only (D193).
"""

from backends.clock import Clock
from gateway.directory.resolve.cache import CachedBinding
from gateway.directory.retention import Remembering
from gateway.domain.model import Binding

SILENCE_MS = 2000
"""A replica knows what was changed, or knows that it does not know, after this time."""

_RETRY_MS = 1000
_NEVER_MS = -(2**53)


class Freshness:
    """Judges the bindings of one cache. Times are monotonic."""

    def __init__(self, remembering: Remembering, clock: Clock) -> None:
        self._remembering = remembering
        self._now_ms = clock.monotonic_ms
        self._feed_ms = min(SILENCE_MS, remembering.fresh_ms)
        self._epoch = 0
        self._confirmed_ms = self._confirmed_before_epoch_ms = _NEVER_MS

    def confirm(self, as_of_ms: int, *, is_complete: bool) -> None:
        """The feed has told every change that was made before `as_of_ms`, or cannot say whether it has."""
        if not is_complete:
            self._epoch += 1
            self._confirmed_before_epoch_ms = self._confirmed_ms
        self._confirmed_ms = as_of_ms

    def looked_up(self, binding: Binding, version: str, began_ms: int) -> CachedBinding:
        """A binding as the store's record of `version` gives it; the lookup began at `began_ms`.

        A process that is stopped during a lookup does not remember for longer.
        """
        fresh_until_ms = began_ms + self._remembering.fresh_ms
        return CachedBinding(binding, version, self._epoch, began_ms, fresh_until_ms)

    def is_fresh(self, cached: CachedBinding) -> bool:
        """Whether it may be used without asking the store."""
        if cached.epoch != self._epoch:
            return False
        now_ms = self._now_ms()
        if cached.is_vouched_for and now_ms < self._confirmed_ms + self._feed_ms:
            return True
        return now_ms < cached.fresh_until_ms

    def expire(self, cached: CachedBinding) -> None:
        """Look it up before it is used again; while the store is down, it may be used."""
        cached.may_be_stale = cached.may_be_stale and cached.epoch == self._epoch
        if cached.is_vouched_for:
            cached.vouched_for_ms = max(cached.vouched_for_ms, self._confirmed_in(cached.epoch))
            cached.is_vouched_for = False
        cached.epoch, cached.fresh_until_ms = self._epoch, _NEVER_MS

    def _confirmed_in(self, epoch: int) -> int:
        """When the feed spoke last in this epoch; of earlier ones than the last two nobody knows."""
        if epoch == self._epoch:
            return self._confirmed_ms
        return self._confirmed_before_epoch_ms if epoch == self._epoch - 1 else _NEVER_MS

    def invalidate(self, cached: CachedBinding) -> None:
        """Never use it again as it is."""
        self.expire(cached)
        cached.vouched_for_ms = _NEVER_MS

    def outlives_outage(self, cached: CachedBinding) -> bool:
        """Whether it may be used although the store cannot be asked; if so, then for a second from now on."""
        self.expire(cached)
        now_ms = self._now_ms()
        until_ms = cached.vouched_for_ms + self._remembering.fresh_ms
        if cached.may_be_stale:
            until_ms += self._remembering.stale_ms
        cached.fresh_until_ms = min(now_ms + _RETRY_MS, until_ms)
        return now_ms < until_ms
