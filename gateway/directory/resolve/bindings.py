"""From a table token to its binding, as the data plane asks for it: from the cache, or by a lookup (D30).

A lookup reads the token's pointer and then the app's document. A token never changes its app, so a binding
that was cached costs one read of the document when it is looked up again, and nothing is decoded unless
the document has another version.

Changes that are made through this replica are in effect when their call returns; those of other replicas
once the feed has told them. When a binding has to be looked up again is judged by `freshness`, how a lookup
and a change at the same time get along by `lookups`. A record that is corrupt is no outage: its app is
refused, whatever was cached (D135).
"""

from contextlib import suppress

from cachetools import LRUCache
from msgspec import Struct

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.resolve.cache import BindingCache, CachedBinding
from gateway.directory.resolve.freshness import Freshness
from gateway.directory.resolve.reading import BindingReader
from gateway.directory.resolve.single_flight import IsCurrent, Lookups
from gateway.directory.resolve.unknown_tokens import Strangers
from gateway.directory.retention import Remembering
from gateway.directory.tokens import digest_of, is_well_formed
from gateway.domain.errors import AuthUnavailable
from gateway.domain.model import Binding, Environment

CACHED_BINDINGS = 100_000
_CACHED_UNKNOWN = 10_000
_CORRUPT_MS = 1000


class CacheCounts(Struct):
    """How resolutions of managed tokens were answered since the start."""

    hits: int = 0
    misses: int = 0
    stale: int = 0
    withheld: int = 0


class CachedBindings:
    """Resolves tokens. Times are monotonic, except the end of a retiring token (wall clock)."""

    def __init__(
        self,
        *,
        declared: DeclaredApps,
        records: RecordStore,
        corrupt: CorruptRecords,
        remembering: Remembering,
        clock: Clock,
        default_limit: int,
    ) -> None:
        self._declared = declared
        self._reader = BindingReader(records, corrupt, default_limit)
        self._remembering = remembering
        self._clock = clock
        self._cache = BindingCache(CACHED_BINDINGS)
        self._unknown_until_ms: LRUCache[bytes, int] = LRUCache(_CACHED_UNKNOWN)
        self._corrupt_until_ms: LRUCache[bytes, int] = LRUCache(_CACHED_UNKNOWN)
        self._lookups = Lookups(self._look_up)
        self._strangers = Strangers(clock.monotonic_ms)
        self.freshness = Freshness(remembering, clock)
        self.counts = CacheCounts()

    def __len__(self) -> int:
        return len(self._cache)

    async def resolve(self, token: bytes, caller: str | None = None) -> Binding | None:
        """The token's binding, or None if there is no such token. Raises AuthUnavailable.

        None, too, for a `caller` who has invented too many, if this replica does not know the token (D148).
        """
        digest = digest_of(token)
        binding = self._declared.bindings.get(digest)
        if binding is not None:
            return binding
        cached = self._cache.find(digest)
        if cached is not None and self.freshness.is_fresh(cached):
            self.counts.hits += 1
            return self._unless_cached_void(cached)
        if cached is not None:
            return self._unless_void(await self._look_up_or_serve_stale(digest, cached))
        if not is_well_formed(token):
            return None
        return self._unless_void(await self._resolve_new(digest, caller))

    def invalidate(self, environment: Environment) -> None:
        """An app was changed: use nothing more that is cached of it, even if the store cannot be asked.

        It stays in the cache, so that its tokens are not taken for invented ones (D148).
        """
        for cached in self._cache.of(environment):
            self.freshness.invalidate(cached)
        self._lookups.note_change(environment)

    def forget_unknown(self, digest: bytes) -> None:
        """A token was made or removed."""
        self._unknown_until_ms.pop(digest, None)
        self._strangers.tell(digest)
        self._lookups.forget(digest)

    def expire(self, environment: Environment) -> None:
        """A change of an app failed here, and may have been applied: look up what is cached before use."""
        for cached in self._cache.of(environment):
            self.freshness.expire(cached)
        self._lookups.note_change(environment)

    def confirm(self, as_of_ms: int, *, is_complete: bool) -> None:
        """The feed has told every change that was made before `as_of_ms`, or cannot say whether it has."""
        self.freshness.confirm(as_of_ms, is_complete=is_complete)
        if not is_complete:
            self._unknown_until_ms.clear()
            self._lookups.note_changes()

    def _unless_void(self, binding: Binding | None) -> Binding | None:
        """None for a token that has ended, and while its app is declared: that alone counts then (D131)."""
        if binding is None or self._declared.find(binding.environment) is not None:
            return None
        return self._unless_ended(binding)

    def _unless_cached_void(self, cached: CachedBinding) -> Binding | None:
        """The same, where the app is looked for once in each edition of the declared ones (D166)."""
        if cached.edition is not self._declared.edition:
            if self._declared.find(cached.binding.environment) is not None:
                return None
            cached.edition = self._declared.edition
        return self._unless_ended(cached.binding)

    def _unless_ended(self, binding: Binding) -> Binding | None:
        if binding.valid_until_ms is not None and self._clock.wall_ms() >= binding.valid_until_ms:
            return None
        return binding

    async def _resolve_new(self, digest: bytes, caller: str | None) -> Binding | None:
        """The binding of a token that is not in the cache."""
        is_known_to_be_none = self._unknown_until_ms.get(digest, 0) > self._clock.monotonic_ms()
        if caller is None or is_known_to_be_none or digest in self._lookups:
            return await self._look_up_or_serve_stale(digest, None)
        if not self._strangers.may_look_up(caller, digest):
            self.counts.withheld += 1
            return None
        binding = await self._look_up_or_serve_stale(digest, None)
        if binding is None:
            self._strangers.count(caller)
        return binding

    async def _look_up_or_serve_stale(self, digest: bytes, cached: CachedBinding | None) -> Binding | None:
        now_ms = self._clock.monotonic_ms()
        if cached is None and self._unknown_until_ms.get(digest, 0) > now_ms:
            self.counts.hits += 1
            return None
        if self._corrupt_until_ms.get(digest, 0) > now_ms:
            raise AuthUnavailable
        try:
            return await self._lookups.current(digest)
        except CorruptRecord as error:
            self._cache.pop(digest, None)
            self._corrupt_until_ms[digest] = now_ms + _CORRUPT_MS
            raise AuthUnavailable from error
        except BackendError as error:
            cached = self._cache.get(digest)  # again: it may have been invalidated meanwhile
            if cached is None or not self.freshness.outlives_outage(cached):
                raise AuthUnavailable from error
            self.counts.stale += 1
            return cached.binding

    async def _look_up(self, digest: bytes, is_current: IsCurrent) -> Binding | None:
        """Read a binding and cache it, unless a change came in between."""
        self.counts.misses += 1
        may_remember = await self._may_remember()
        began_ms = self._clock.monotonic_ms()
        version, binding = await self._reader.read(digest, self._cache.get(digest))
        if may_remember and is_current():
            self._remember(digest, version, binding, began_ms)
        return binding

    async def _may_remember(self) -> bool:
        """Whether the replica that reclaims knows for how long this one does (D134)."""
        if not self._remembering.is_agreed:
            with suppress(BackendError):
                await self._remembering.agree()
        return self._remembering.is_agreed

    def _remember(self, digest: bytes, version: str, binding: Binding | None, began_ms: int) -> None:
        if binding is None:
            self._cache.pop(digest, None)
            self._unknown_until_ms[digest] = began_ms + self._remembering.fresh_ms
        else:
            self._cache[digest] = self.freshness.looked_up(binding, version, began_ms)
