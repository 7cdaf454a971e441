"""For how long replicas remember bindings, and how they agree on the longest (D134).

Under a remembered binding a replica writes entries of a table that may have been deleted meanwhile. So the
replica that gives back the space of tables has to know the longest time of all replicas, those with other
settings included. A replica remembers nothing before the store holds a time at least as long as its own, and
that time never gets shorter: so no binding was ever remembered for longer than the store says.
"""

import asyncio

from backends.errors import BackendUnavailable
from backends.interface import Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.records import MEMORY, MemoryRecord, encode

_ATTEMPTS = 100
_LONGEST_POSSIBLE_MS = 90_000_000
"""What the settings allow (an hour fresh, a day stale), if the store's record cannot be read."""


class Remembering:
    """How long this replica remembers bindings: `fresh_ms` at any time, `stale_ms` more without the store."""

    def __init__(
        self, records: RecordStore, corrupt: CorruptRecords, *, fresh_ms: int, stale_ms: int
    ) -> None:
        self._records = records
        self._corrupt = corrupt
        self._own_ms = fresh_ms + stale_ms
        self._agreeing = asyncio.Lock()
        self.fresh_ms = fresh_ms
        self.stale_ms = stale_ms
        self.is_agreed = False
        """Whether the store holds a time that is at least this replica's own."""

    async def agree(self) -> None:
        """Returns once the store holds this replica's time, or a longer one. Raises BackendError."""
        async with self._agreeing:
            if not self.is_agreed:
                await self.longest_ms()
                self.is_agreed = True

    async def longest_ms(self) -> int:
        """The longest time of any replica that ever ran, this one included. Raises BackendError."""
        for _ in range(_ATTEMPTS):
            record = await self._records.read(MEMORY)
            stored_ms = 0 if record is None else self._time_in(record)
            if stored_ms is not None and stored_ms >= self._own_ms and record is not None:
                return stored_ms
            longest_ms = _LONGEST_POSSIBLE_MS if stored_ms is None else self._own_ms
            version = None if record is None else record.version
            if await self._records.swap(MEMORY, encode(MemoryRecord(longest_ms)), version):
                return longest_ms
        raise BackendUnavailable("a record of the directory keeps changing")

    def _time_in(self, record: Record) -> int | None:
        try:
            return self._corrupt.decode(MEMORY, record, MemoryRecord).longest_ms
        except CorruptRecord:
            return None
