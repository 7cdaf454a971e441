"""Space of deleted tables, given back in the background; what a crash interrupts, the next round resumes."""

import logging

from msgspec.structs import replace

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import EntryStore, Keyspace, Record, RecordStore
from gateway.directory.records import RECLAIMS, AppRecord, ReclaimRecord, app_name, decode, encode

_ABANDONED_AFTER_MS = 3_600_000
_SLOWEST_CALL_MS = 30_000

log = logging.getLogger("kvs.directory")


class Reclaimer:
    """Purges the keyspaces of tables that no app has any more."""

    def __init__(self, records: RecordStore, entries: EntryStore, clock: Clock, cache_ttl_ms: int) -> None:
        self._records = records
        self._entries = entries
        self._clock = clock
        self._settled_after_ms = cache_ttl_ms + _SLOWEST_CALL_MS

    async def run(self) -> None:
        """Work off every intent. A store failure ends the round; the next one starts over."""
        try:
            intents = [intent async for intent in self._records.list(RECLAIMS)]
            for name, record in intents:
                await self._reclaim(name, record)
        except BackendError as error:
            log.warning("reclaiming waits for the store", extra={"fields": {"cause": type(error).__name__}})

    async def _reclaim(self, name: str, record: Record) -> None:
        """Purge at once, and again when no replica can still be writing under a binding it remembers."""
        intent = decode(record, ReclaimRecord)
        age_ms = self._clock.wall_ms() - intent.requested_at_ms
        table_id = name.removeprefix(RECLAIMS)
        if await self._is_alive(intent, table_id):
            if age_ms > _ABANDONED_AFTER_MS:
                await self._records.swap(name, None, record.version)
        elif age_ms > self._settled_after_ms:
            await self._entries.purge(Keyspace(table_id))
            await self._records.swap(name, None, record.version)
        elif not intent.is_purged:
            await self._entries.purge(Keyspace(table_id))
            await self._records.swap(name, encode(replace(intent, is_purged=True)), record.version)

    async def _is_alive(self, intent: ReclaimRecord, table_id: str) -> bool:
        record = await self._records.read(app_name(intent.environment))
        if record is None:
            return False
        return any(table.id == table_id for table in decode(record, AppRecord).tables)
