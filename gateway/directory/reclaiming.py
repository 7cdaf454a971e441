"""The space of deleted tables, given back in the background: the reader of the intents that `changes` writes.

An intent is read in one of three states:

- The table is in its app's document: the deletion has not swapped yet, or crashed before it did. After an
  hour it has crashed, and the intent is dropped.
- The table is gone: it is purged at once, which gives back nearly everything.
- It is gone, and for longer than any binding stays cached and any call takes: it is purged again, and the
  intent is dropped. Until then a replica may serve the table out of its cache, and a put that it began in
  time may reach the store after the first purge. Table ids are never used twice (D28), so no purge can
  meet entries of another table.

Every step can be repeated: what a crash interrupts, the next round resumes, on any replica.
"""

import logging

from msgspec.structs import replace

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import EntryStore, Keyspace, Record, RecordStore
from backends.walking import walk
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
        self._last_write_ms = cache_ttl_ms + _SLOWEST_CALL_MS

    async def run(self) -> None:
        """One round through all intents. A failure of the store ends the round; the next one starts over."""
        try:
            intents = [intent async for intent in walk(self._records, RECLAIMS)]
            for name, record in intents:
                await self._reclaim(name, record)
        except BackendError as error:
            log.warning("reclaiming waits for the store", extra={"fields": {"cause": type(error).__name__}})

    async def _reclaim(self, name: str, record: Record) -> None:
        intent = decode(record, ReclaimRecord)
        age_ms = self._clock.wall_ms() - intent.requested_at_ms
        table_id = name.removeprefix(RECLAIMS)
        if await self._is_alive(intent, table_id):
            if age_ms > _ABANDONED_AFTER_MS:
                await self._records.swap(name, None, record.version)
        elif age_ms > self._last_write_ms:
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
