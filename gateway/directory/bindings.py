"""From a table token to its binding, as the data plane asks for it: from the cache, or by a lookup (D30).

A lookup reads the token's pointer and then the app's document. A token never changes its app, so a binding
that was cached costs one read of the document when it is looked up again, and nothing is decoded unless
the document has another version. Concurrent lookups of one token are one (single flight).

Changes that are made through this replica are in effect when their call returns; those of other
replicas within `Remembering.fresh_ms`. The race to be excluded is a lookup that read the document before the
change and finishes after it: it must neither answer a call that began after the change, nor be cached.

- Every change counts `_changes` up and notes the count under its app environment, in `_changed_at`. A lookup
  notes the count before it reads. If its app was changed since, it may have read what was there before
  and is made again (for the calls that have waited for it, too).
- Which app a lookup is about is not known before it ends. So a change detaches all lookups in flight: no
  later call joins one, and none of them is cached. Lookups of other apps still answer those who
  wait for them; they cost one more lookup later.

While the store is down, a cached binding is used until `stale_ms` after it would have been looked up, and
the store is asked once a second per token. So a change that failed only expires the bindings of its app:
it may have been applied, therefore the store is asked first; it may be the store that is down, and
then a failed change must not end what is served without one. A record that is corrupt is no outage: its app
is refused, whatever was cached (D135).
"""

import asyncio
from contextlib import suppress

from cachetools import LRUCache
from msgspec import Struct

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from gateway.directory.cache import BindingCache, CachedBinding
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.reading import BindingReader
from gateway.directory.remembering import Remembering
from gateway.directory.strangers import Strangers
from gateway.directory.tokens import digest_of, is_well_formed
from gateway.domain.errors import AuthUnavailable
from gateway.domain.model import Binding, Environment

_CACHED_BINDINGS = 100_000
_CACHED_UNKNOWN = 10_000
_RETRY_MS = 1000
_MAX_LOOKUPS = 3
"""Of one call: an app that is changed without pause must not keep it waiting for ever."""


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
        self._cache = BindingCache(_CACHED_BINDINGS)
        self._unknown_until_ms: LRUCache[bytes, int] = LRUCache(_CACHED_UNKNOWN)
        self._corrupt_until_ms: LRUCache[bytes, int] = LRUCache(_CACHED_UNKNOWN)
        self._lookups: dict[bytes, asyncio.Task[Binding | None]] = {}
        self._strangers = Strangers(clock.monotonic_ms)
        self._changes = 0
        self._changed_at: dict[Environment, int] = {}
        self.counts = CacheCounts()

    def __len__(self) -> int:
        return len(self._cache)

    async def resolve(self, token: bytes, caller: str | None = None) -> Binding | None:
        """The token's binding, or None if there is no such token. Raises AuthUnavailable.

        None, too, for a `caller` who has invented too many, if this replica does not know the token (D155).
        """
        digest = digest_of(token)
        binding = self._declared.bindings.get(digest)
        if binding is not None:
            return binding
        cached = self._cache.get(digest)
        if cached is not None and self._clock.monotonic_ms() < cached.fresh_until_ms:
            self.counts.hits += 1
            return self._unless_void(cached.binding)
        if cached is not None:
            return self._unless_void(await self._look_up_or_serve_stale(digest, cached))
        if not is_well_formed(token):
            return None
        return self._unless_void(await self._resolve_new(digest, caller))

    def invalidate(self, environment: Environment) -> None:
        """Drop what is cached of an app environment: it was changed through this replica, just now."""
        self._cache.invalidate(environment)
        self._detach_lookups(environment)

    def expire(self, environment: Environment) -> None:
        """Look up what is cached of an app environment before it is used: a change of it failed here."""
        self._cache.expire(environment)
        self._detach_lookups(environment)

    def _detach_lookups(self, environment: Environment) -> None:
        self._changes += 1
        self._changed_at[environment] = self._changes
        self._lookups.clear()

    def _unless_void(self, binding: Binding | None) -> Binding | None:
        """None for a token that has ended, and while its app is declared: that alone counts then (D131)."""
        if binding is None or self._declared.find(binding.environment) is not None:
            return None
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
            return await self._look_up_current(digest)
        except CorruptRecord as error:
            self._cache.pop(digest, None)
            self._corrupt_until_ms[digest] = now_ms + _RETRY_MS
            raise AuthUnavailable from error
        except BackendError as error:
            cached = self._cache.get(digest)  # again: it may have been invalidated meanwhile
            if cached is None or cached.stale_until_ms <= now_ms:
                raise AuthUnavailable from error
            cached.fresh_until_ms = min(now_ms + _RETRY_MS, cached.stale_until_ms)
            self.counts.stale += 1
            return cached.binding

    async def _look_up_current(self, digest: bytes) -> Binding | None:
        """The binding as the store has it, made after every change of its app that is known here."""
        for _ in range(_MAX_LOOKUPS):
            changes = self._changes
            binding = await self._join_lookup(digest)
            if binding is None or self._changed_at.get(binding.environment, 0) <= changes:
                break
        return binding

    async def _join_lookup(self, digest: bytes) -> Binding | None:
        """The lookup of this token that is in flight, or a new one; it outlives a call that is cancelled."""
        lookup = self._lookups.get(digest)
        if lookup is None:
            self.counts.misses += 1
            lookup = self._lookups[digest] = asyncio.create_task(self._look_up_and_cache(digest))
        return await asyncio.shield(lookup)

    async def _look_up_and_cache(self, digest: bytes) -> Binding | None:
        """Caches nothing if a change detached this lookup: another one may be in its place by then."""
        lookup = asyncio.current_task()
        try:
            may_remember = await self._may_remember()
            began_ms = self._clock.monotonic_ms()
            version, binding = await self._reader.read(digest, self._cache.get(digest))
            if may_remember and self._lookups.get(digest) is lookup:
                self._put(digest, version, binding, began_ms)
            return binding
        finally:
            if self._lookups.get(digest) is lookup:
                del self._lookups[digest]

    async def _may_remember(self) -> bool:
        """Whether whoever reclaims knows for how long this replica does (D134)."""
        if not self._remembering.is_agreed:
            with suppress(BackendError):
                await self._remembering.agree()
        return self._remembering.is_agreed

    def _put(self, digest: bytes, version: str, binding: Binding | None, began_ms: int) -> None:
        """Times count from before the store was asked: a process that was stopped meanwhile adds none."""
        fresh_until_ms = began_ms + self._remembering.fresh_ms
        stale_until_ms = fresh_until_ms + self._remembering.stale_ms
        if binding is None:
            self._cache.pop(digest, None)
            self._unknown_until_ms[digest] = fresh_until_ms
        else:
            self._cache[digest] = CachedBinding(binding, version, fresh_until_ms, stale_until_ms)
