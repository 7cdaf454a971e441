"""The time for which replicas cache bindings, registered in the store (D133).

A replica that uses a cached binding may write entries of a table that was deleted meanwhile. The replica that
reclaims the space of deleted tables therefore waits for the longest retention of all replicas, including
those with other settings. Two invariants make that wait safe: a replica caches nothing before the store holds
a retention at least as long as its own, and the stored retention never decreases.
"""

import asyncio

from backends.errors import BackendUnavailable
from backends.interface import Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.records import RETENTION, RetentionRecord, encode

_ATTEMPTS = 100
_LONGEST_POSSIBLE_MS = 90_000_000
"""The maximum of the settings (an hour fresh, a day stale): assumed if the stored record is corrupt."""


class CacheRetention:
    """The retention of this replica: `fresh_ms` always, and `stale_ms` more while the store is down."""

    def __init__(
        self, records: RecordStore, corrupt: CorruptRecords, *, fresh_ms: int, stale_ms: int
    ) -> None:
        self._records = records
        self._corrupt = corrupt
        self._own_ms = fresh_ms + stale_ms
        self._registering = asyncio.Lock()
        self.fresh_ms = fresh_ms
        self.stale_ms = stale_ms
        self.is_registered = False
        """True if the store holds a retention at least as long as this replica's."""

    async def register(self) -> None:
        """Returns once the store holds this replica's retention or a longer one. Raises BackendError."""
        async with self._registering:
            if not self.is_registered:
                await self.max_ms()
                self.is_registered = True

    async def max_ms(self) -> int:
        """Returns the longest retention of any replica that ever ran, including this one.

        Raises BackendError.
        """
        for _ in range(_ATTEMPTS):
            record = await self._records.read(RETENTION)
            stored_ms = 0 if record is None else self._decode(record)
            if stored_ms is not None and stored_ms >= self._own_ms and record is not None:
                return stored_ms
            max_ms = _LONGEST_POSSIBLE_MS if stored_ms is None else self._own_ms
            version = None if record is None else record.version
            if await self._records.swap(RETENTION, encode(RetentionRecord(max_ms)), version):
                return max_ms
        raise BackendUnavailable("a record of the directory keeps changing")

    def _decode(self, record: Record) -> int | None:
        try:
            return self._corrupt.decode(RETENTION, record, RetentionRecord).max_ms
        except CorruptRecord:
            return None
