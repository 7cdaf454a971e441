"""Reads bindings from the store and caches them.

A lookup reads the token's pointer and then the app's document (D27). A token never moves to another app, so a
binding that is still cached saves the read of the pointer, and an unchanged version saves the decoding.
"""

from contextlib import suppress

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.grants import binding_of
from gateway.directory.records import AppRecord, TokenRecord, app_name, token_name
from gateway.directory.resolve.cache import BindingCache, CachedBinding
from gateway.directory.resolve.freshness import Freshness
from gateway.directory.resolve.single_flight import IsCurrent
from gateway.directory.retention import CacheRetention
from gateway.domain.model import Binding, Environment

_CORRUPT_MS = 1000


class BindingLookup:
    """Looks up bindings by token digest."""

    def __init__(
        self,
        *,
        records: RecordStore,
        corrupt: CorruptRecords,
        cache: BindingCache,
        freshness: Freshness,
        retention: CacheRetention,
        clock: Clock,
        default_limit: int,
        default_max_bytes: int | None,
    ) -> None:
        self._records = records
        self._corrupt = corrupt
        self._cache = cache
        self._freshness = freshness
        self._retention = retention
        self._now_ms = clock.monotonic_ms
        self._default_limit = default_limit
        self._default_max_bytes = default_max_bytes

    async def run(self, digest: bytes, is_current: IsCurrent) -> Binding | None:
        """Reads a binding, and caches it unless a change has overtaken the lookup.

        Raises BackendError, including CorruptRecord.
        """
        self._cache.counts.misses += 1
        may_cache = await self._may_cache()
        began_ms = self._now_ms()
        try:
            version, binding = await self._read(digest, self._cache.get(digest))
        except CorruptRecord:
            self._cache.put_corrupt(digest, began_ms + _CORRUPT_MS)
            raise
        if may_cache and is_current():
            if binding is None:
                self._cache.put_unknown(digest, began_ms + self._retention.fresh_ms)
            else:
                self._cache[digest] = self._freshness.looked_up(binding, version, began_ms)
        return binding

    async def _may_cache(self) -> bool:
        """Returns whether the replica that reclaims knows the retention of this one (D133)."""
        if not self._retention.is_registered:
            with suppress(BackendError):
                await self._retention.register()
        return self._retention.is_registered

    async def _read(self, digest: bytes, cached: CachedBinding | None) -> tuple[str, Binding | None]:
        """Returns the version of the app's document, and the binding of the token in it."""
        sha256 = digest.hex()
        environment = await self._environment_of(sha256) if cached is None else cached.binding.environment
        if environment is None:
            return "", None
        name = app_name(environment)
        record = await self._records.read(name)
        if record is None:
            return "", None
        if cached is not None and cached.version == record.version:
            return record.version, cached.binding
        app = self._corrupt.decode(name, record, AppRecord)
        return record.version, binding_of(app, sha256, self._default_limit, self._default_max_bytes)

    async def _environment_of(self, sha256: str) -> Environment | None:
        name = token_name(sha256)
        pointer = await self._records.read(name)
        return None if pointer is None else self._corrupt.decode(name, pointer, TokenRecord).environment
