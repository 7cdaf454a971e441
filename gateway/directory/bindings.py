"""Bindings as the data plane sees them: cached, with a bound on how stale they may be.

A binding read from the store is used for `cache_ttl_ms` and then read again, by
one request however many wait for it. A token never changes its app, so only the
app's record is read again, and decoded only if it was changed. While the store is down, what was known
keeps working for `stale_ttl_ms` after it would have been read again; unknown tokens get AuthUnavailable.
"""

import asyncio

from cachetools import LRUCache
from msgspec import Struct

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from gateway.directory.declared import DeclaredApps
from gateway.directory.records import AppRecord, TokenRecord, app_name, binding_of, decode, token_name
from gateway.directory.tokens import digest_of, is_well_formed
from gateway.domain.errors import AuthUnavailable
from gateway.domain.model import Binding, Environment

_CACHED_BINDINGS = 100_000
_CACHED_UNKNOWN = 10_000
_RETRY_MS = 1000
_MAX_LOOKUPS = 3


class CacheCounts(Struct):
    """How resolutions of managed tokens were answered since the start."""

    hits: int = 0
    misses: int = 0
    stale: int = 0


class _Known(Struct):
    """`version` is that of the app's record."""

    binding: Binding
    version: str
    fresh_until_ms: int
    stale_until_ms: int


class _KnownBindings(LRUCache[bytes, _Known]):
    """What is known, by token digest and by app environment."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._digests: dict[Environment, set[bytes]] = {}

    def digests_of(self, environment: Environment) -> list[bytes]:
        """The tokens that are known of an app environment."""
        return list(self._digests.get(environment, ()))

    def __setitem__(self, digest: bytes, known: _Known) -> None:
        super().__setitem__(digest, known)
        self._digests.setdefault(known.binding.environment, set()).add(digest)

    def __delitem__(self, digest: bytes) -> None:
        environment = self[digest].binding.environment
        super().__delitem__(digest)
        digests = self._digests[environment]
        digests.discard(digest)
        if not digests:
            del self._digests[environment]


class CachedBindings:
    """Resolves tokens. Times are monotonic, except the end of a retiring token (wall clock)."""

    def __init__(
        self,
        *,
        declared: DeclaredApps,
        records: RecordStore,
        clock: Clock,
        default_limit: int,
        cache_ttl_ms: int,
        stale_ttl_ms: int,
    ) -> None:
        self._declared = declared
        self._records = records
        self._clock = clock
        self._default_limit = default_limit
        self._cache_ttl_ms = cache_ttl_ms
        self._stale_ttl_ms = stale_ttl_ms
        self._known = _KnownBindings(_CACHED_BINDINGS)
        self._unknown_until_ms: LRUCache[bytes, int] = LRUCache(_CACHED_UNKNOWN)
        self._reading: dict[bytes, asyncio.Task[Binding | None]] = {}
        self._changes = 0
        self._changed_at: dict[Environment, int] = {}
        self.counts = CacheCounts()

    def __len__(self) -> int:
        return len(self._known)

    async def resolve(self, token: bytes) -> Binding | None:
        """The token's binding, or None if there is no such token. Raises AuthUnavailable."""
        digest = digest_of(token)
        binding = self._declared.bindings.get(digest)
        if binding is not None:
            return binding
        known = self._known.get(digest)
        if known is not None and self._clock.monotonic_ms() < known.fresh_until_ms:
            self.counts.hits += 1
            return self._unless_ended(known.binding)
        if known is None and not is_well_formed(token):
            return None
        return self._unless_ended(await self._read_or_stale(digest, known))

    def forget(self, environment: Environment) -> None:
        """Let nothing known of this app environment be used again: it was changed here, just now."""
        for digest in self._known.digests_of(environment):
            del self._known[digest]
        self._note_change(environment)

    def doubt(self, environment: Environment) -> None:
        """Ask the store before anything known is used: a change failed, and may have been applied."""
        for digest in self._known.digests_of(environment):
            self._known[digest].fresh_until_ms = 0
        self._note_change(environment)

    def _note_change(self, environment: Environment) -> None:
        """What is being read now will neither be joined nor kept."""
        self._changes += 1
        self._changed_at[environment] = self._changes
        self._reading.clear()

    def _unless_ended(self, binding: Binding | None) -> Binding | None:
        if binding is None or binding.valid_until_ms is None:
            return binding
        return binding if self._clock.wall_ms() < binding.valid_until_ms else None

    async def _read_or_stale(self, digest: bytes, known: _Known | None) -> Binding | None:
        now_ms = self._clock.monotonic_ms()
        if known is None and self._unknown_until_ms.get(digest, 0) > now_ms:
            self.counts.hits += 1
            return None
        try:
            return await self._read_current(digest)
        except BackendError as error:
            known = self._known.get(digest)
            if known is None or known.stale_until_ms <= now_ms:
                raise AuthUnavailable from error
            known.fresh_until_ms = min(now_ms + _RETRY_MS, known.stale_until_ms)
            self.counts.stale += 1
            return known.binding

    async def _read_current(self, digest: bytes) -> Binding | None:
        """What the store says; a lookup whose own app was changed here meanwhile is made again."""
        for _ in range(_MAX_LOOKUPS):
            changes = self._changes
            binding = await self._read_once(digest)
            if binding is None or self._changed_at.get(binding.environment, 0) <= changes:
                break
        return binding

    async def _read_once(self, digest: bytes) -> Binding | None:
        reading = self._reading.get(digest)
        if reading is None:
            self.counts.misses += 1
            reading = self._reading[digest] = asyncio.create_task(self._read_and_keep(digest))
        return await asyncio.shield(reading)

    async def _read_and_keep(self, digest: bytes) -> Binding | None:
        try:
            version, binding = await self._read(digest)
            if self._reading.get(digest) is asyncio.current_task():
                self._keep(digest, version, binding)
            return binding
        finally:
            if self._reading.get(digest) is asyncio.current_task():
                del self._reading[digest]

    async def _read(self, digest: bytes) -> tuple[str, Binding | None]:
        """The binding, and the version of the record that says so."""
        known, sha256 = self._known.get(digest), digest.hex()
        environment = await self._environment_of(sha256) if known is None else known.binding.environment
        record = None if environment is None else await self._records.read(app_name(environment))
        if record is None:
            return "", None
        if known is not None and known.version == record.version:
            return record.version, known.binding
        return record.version, binding_of(decode(record, AppRecord), sha256, self._default_limit)

    async def _environment_of(self, sha256: str) -> Environment | None:
        pointer = await self._records.read(token_name(sha256))
        return None if pointer is None else decode(pointer, TokenRecord).environment

    def _keep(self, digest: bytes, version: str, binding: Binding | None) -> None:
        fresh_until_ms = self._clock.monotonic_ms() + self._cache_ttl_ms
        stale_until_ms = fresh_until_ms + self._stale_ttl_ms
        known = self._known.get(digest)
        if binding is None:
            self._known.pop(digest, None)
            self._unknown_until_ms[digest] = fresh_until_ms
        elif known is not None and known.binding is binding:
            known.fresh_until_ms, known.stale_until_ms = fresh_until_ms, stale_until_ms
        else:
            self._known[digest] = _Known(binding, version, fresh_until_ms, stale_until_ms)
