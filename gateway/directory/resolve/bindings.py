"""Resolves table tokens to bindings for the data plane: from the cache, or by a lookup (D160).

Changes made through this replica are in effect when their call returns; those of other replicas once the feed
has announced them. `freshness` decides whether a cached binding may be used, `single_flight` what happens to
a lookup that a change overtakes. A corrupt record is no outage: its app is refused, cached or not (D135).
"""

from hashlib import sha256

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.resolve.cache import BindingCache, CachedBinding
from gateway.directory.resolve.freshness import Freshness
from gateway.directory.resolve.lookup import BindingLookup
from gateway.directory.resolve.single_flight import SingleFlight
from gateway.directory.resolve.unknown_tokens import UnknownTokenLimiter
from gateway.directory.retention import CacheRetention
from gateway.directory.tokens import is_well_formed
from gateway.domain.errors import AuthUnavailable
from gateway.domain.model import Binding, Environment


class CachedBindings:
    """Resolves tokens. Times are monotonic, except the end of a retiring token (wall clock)."""

    def __init__(
        self,
        *,
        declared: DeclaredApps,
        records: RecordStore,
        corrupt: CorruptRecords,
        retention: CacheRetention,
        clock: Clock,
        default_limit: int,
        default_max_bytes: int | None,
    ) -> None:
        self._declared = declared
        self._clock = clock
        self._cache = BindingCache()
        self._freshness = Freshness(retention, clock)
        lookup = BindingLookup(
            records=records,
            corrupt=corrupt,
            cache=self._cache,
            freshness=self._freshness,
            retention=retention,
            clock=clock,
            default_limit=default_limit,
            default_max_bytes=default_max_bytes,
        )
        self._lookups = SingleFlight(lookup.run)
        self._limiter = UnknownTokenLimiter(clock.monotonic_ms)
        self.counts = self._cache.counts

    def __len__(self) -> int:
        return len(self._cache)

    async def resolve(self, token: bytes, caller: str | None = None) -> Binding | None:
        """Returns the token's binding, or None if there is no such token. Raises AuthUnavailable.

        Also None if the caller has exceeded its budget of unknown tokens and the token is not cached (D148).
        """
        digest = sha256(token).digest()
        binding = self._declared.bindings.get(digest)
        if binding is not None:
            return binding
        cached = self._cache.find(digest)
        if cached is None:
            binding = await self._resolve_uncached(token, digest, caller)
        elif self._freshness.is_fresh(cached):
            self.counts.hits += 1
            return self._unless_cached_void(cached)
        else:
            binding = await self._look_up(digest)
        return self._unless_void(binding)

    def invalidate(self, environment: Environment) -> None:
        """Stops the use of all cached bindings of a changed app, even while the store is down.

        The bindings stay in the cache, so that the app's tokens still count as known tokens (D148).
        """
        for cached in self._cache.of(environment):
            self._freshness.invalidate(cached)
        self._lookups.note_change(environment)

    def invalidate_unknown(self, digest: bytes) -> None:
        """Drops a token that was created or removed from the negative cache."""
        self._cache.drop_unknown(digest)
        self._limiter.mark_known(digest)
        self._lookups.detach(digest)

    def expire(self, environment: Environment) -> None:
        """Requires a lookup before the next use: a failed change of the app may have been applied."""
        for cached in self._cache.of(environment):
            self._freshness.expire(cached)
        self._lookups.note_change(environment)

    def feed_confirmed(self, as_of_ms: int, *, is_complete: bool, lag_ms: int = 0) -> None:
        """Notes that the feed has announced every change before `as_of_ms`, or may have missed some."""
        self._freshness.feed_confirmed(as_of_ms, is_complete=is_complete, lag_ms=lag_ms)
        if not is_complete:
            self._cache.drop_unknown()
            self._lookups.note_possible_changes()

    def _unless_void(self, binding: Binding | None) -> Binding | None:
        """Returns None for a token that has ended, or whose app is declared: the file takes precedence."""
        if binding is None or self._declared.find(binding.environment) is not None:
            return None
        return self._unless_ended(binding)

    def _unless_cached_void(self, cached: CachedBinding) -> Binding | None:
        """Does the same for a cached binding; searches each edition of the declared apps only once (D166)."""
        if cached.edition is not self._declared.edition:
            if self._declared.find(cached.binding.environment) is not None:
                return None
            cached.edition = self._declared.edition
        return self._unless_ended(cached.binding)

    def _unless_ended(self, binding: Binding) -> Binding | None:
        if binding.valid_until_ms is not None and self._clock.wall_ms() >= binding.valid_until_ms:
            return None
        return binding

    async def _resolve_uncached(self, token: bytes, digest: bytes, caller: str | None) -> Binding | None:
        """Looks up a token that is not cached, unless it is malformed or the caller's budget is spent."""
        if not is_well_formed(token):
            return None
        if self._cache.is_unknown(digest, self._clock.monotonic_ms()):
            self.counts.hits += 1
            return None
        if caller is None or digest in self._lookups:  # joining a lookup costs no read
            return await self._look_up(digest)
        if not self._limiter.may_look_up(caller, digest):
            self.counts.withheld += 1
            return None
        binding = await self._look_up(digest)
        if binding is None:
            self._limiter.charge(caller)
        return binding

    async def _look_up(self, digest: bytes) -> Binding | None:
        """Looks up a token; while the store is down, uses the cached binding for a bounded time."""
        if self._cache.is_corrupt(digest, self._clock.monotonic_ms()):
            raise AuthUnavailable
        try:
            return await self._lookups.current(digest)
        except CorruptRecord as error:
            raise AuthUnavailable from error
        except BackendError as error:
            cached = self._cache.get(digest)  # read only now: a change may have invalidated it meanwhile
            if cached is None or not self._freshness.usable_during_outage(cached):
                raise AuthUnavailable from error
            self.counts.stale += 1
            return cached.binding
