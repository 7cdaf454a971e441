"""Intents, the records of deleted tables: their states, and the tables whose purge is due.

An intent is in one of three states:

- The table is still in its app's document: the deletion has not swapped yet, or crashed before it did. After
  an hour it counts as crashed, and the intent is dropped.
- The table is gone: it is purged immediately, which gives back nearly all of its space.
- The table has been gone for longer than any binding is cached and any call takes: it is purged again, and
  the intent is dropped. Until then a replica that cannot read the directory may serve the table from its
  cache, and a put that it began in time may reach the store after the first purge.

A live table is never purged. A table id is random and never reused, so a table that its app has lost is gone
for good. Only ids of that random form are purged, so no intent reaches a declared table. An intent that
cannot be decoded purges nothing: it stays, is logged and counted as a corrupt record, and affects no other
intent. An intent of a corrupt app waits until the app is restored or removed (D135).

The wait is measured in parts, which are added up in the intent. A part is the time for which one replica has
seen one version of the intent, by its monotonic clock. The replica adds the part by swapping that version for
the next, and only one replica succeeds. Parts therefore never overlap, their sum never exceeds the time that
has passed, and neither wrong wall clocks nor restarts shorten the wait (D133).
"""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import Keyspace, NamedRecord, Record, RecordStore
from backends.paging import all_records
from backends.tables import Table
from gateway.directory.corrupt import CorruptRecord, CorruptRecords, find_holders, table_ids_in
from gateway.directory.grants import home_of
from gateway.directory.records import RECLAIMS, AppRecord, ReclaimRecord, app_name, encode
from gateway.directory.retention import CacheRetention

_ABANDONED_AFTER_MS = 3_600_000
_SLOWEST_CALL_MS = 30_000
_PARTS_OF_THE_WAIT = 4


class _Seen(Struct, frozen=True):
    """The version of an intent, and the time since which it has been seen (monotonic)."""

    version: str
    since_ms: int


class Pending(Struct, frozen=True):
    """A table whose purge is due, and the version of its intent."""

    table: Table
    version: str


class Intents:
    """The intents of a region, and the time since which this replica has seen each version."""

    def __init__(
        self, records: RecordStore, corrupt: CorruptRecords, retention: CacheRetention, clock: Clock
    ) -> None:
        self._records = records
        self._corrupt = corrupt
        self._retention = retention
        self._now_ms = clock.monotonic_ms
        self._seen: dict[str, _Seen] = {}
        self.failures: list[BackendError] = []
        """Errors of the last round."""

    def __len__(self) -> int:
        """Number of intents at the last look."""
        return len(self._seen)

    def reset(self) -> None:
        """Drops all observations: another replica follows the intents now."""
        self._seen.clear()

    async def any(self) -> bool:
        """Returns whether there is any intent. Raises BackendError."""
        return bool(await self._records.page(RECLAIMS, after="", limit=1))

    async def due(self, limit: int, waiting: Collection[str] = ()) -> dict[str, Pending]:
        """Returns the first `limit` intents whose tables are to be purged now, except those `waiting`.

        Other intents advance to their next state if it is time. Raises BackendError.
        """
        self.failures = []
        intents = [intent async for intent in all_records(self._records, RECLAIMS)]
        wait_ms = _SLOWEST_CALL_MS + await self._retention.max_ms() if intents else 0
        self._observe(intents)
        due: dict[str, Pending] = {}
        for name, record in intents:
            if len(due) == limit:
                break
            if name in waiting:
                continue
            try:
                intent = self._read(name, record)
                if intent is not None and await self._is_due(name, record, intent, wait_ms):
                    due[name] = Pending(_table_of(name, intent), record.version)
            except BackendError as error:
                self.failures.append(error)
        return due

    async def note_purged(self, name: str, version: str) -> None:
        """Notes the end of a purge that began at this version of the intent. Raises BackendError."""
        record = await self._records.read(name)
        intent = None if record is None else self._read(name, record)
        if record is not None and intent is not None and record.version == version:
            await self._swap(name, record, None if intent.is_purged else replace(intent, is_purged=True))

    def _observe(self, intents: Sequence[NamedRecord]) -> None:
        """Keeps the time since which each version has been seen."""
        now_ms = self._now_ms()
        before, self._seen = self._seen, {}
        for name, record in intents:
            seen = before.get(name)
            is_known = seen is not None and seen.version == record.version
            self._seen[name] = seen if seen and is_known else _Seen(record.version, now_ms)

    async def _is_due(self, name: str, record: Record, intent: ReclaimRecord, wait_ms: int) -> bool:
        seen_ms = self._now_ms() - self._seen[name].since_ms
        waited_ms = intent.waited_ms + seen_ms
        if intent.is_purged and waited_ms < wait_ms:
            if seen_ms * _PARTS_OF_THE_WAIT >= wait_ms:
                await self._swap(name, record, replace(intent, waited_ms=waited_ms))
            return False
        if not await self._is_alive(name, intent):
            return True
        if seen_ms >= _ABANDONED_AFTER_MS:
            await self._swap(name, record, None)
        return False

    async def _is_alive(self, name: str, intent: ReclaimRecord) -> bool:
        table_id = name.removeprefix(RECLAIMS)
        if intent.environment is None:  # rare, from version 0.2.0: any app may have the table
            return bool(await find_holders(self._records, {table_id}))
        app = app_name(intent.environment)
        record = await self._records.read(app)
        return record is not None and table_id in self._corrupt.decode(app, record, AppRecord).table_ids

    def _read(self, name: str, record: Record) -> ReclaimRecord | None:
        """Returns the intent, or None, which purges nothing: it is corrupt or not of a managed table."""
        try:
            intent = self._corrupt.decode(name, record, ReclaimRecord)
        except CorruptRecord:
            return None
        return intent if _is_managed(name) else None

    async def _swap(self, name: str, record: Record, intent: ReclaimRecord | None) -> None:
        """Replaces or drops an intent. A swap that fails needs no repetition: another replica made it."""
        await self._records.swap(name, None if intent is None else encode(intent), record.version)


def _is_managed(name: str) -> bool:
    """Returns whether the intent of this name is for a managed table."""
    table_id = name.removeprefix(RECLAIMS)
    ids = table_ids_in(Record(table_id.encode(errors="surrogateescape"), ""))
    return name.startswith(RECLAIMS) and ids == {table_id}


def _table_of(name: str, intent: ReclaimRecord) -> Table:
    """Returns the table in the store.

    The home of a table is unknown if version 0.2.0 found its intent corrupt. Such a table has never had a
    home in the store: its entries are found by keyspace alone.
    """
    home = "" if intent.environment is None else home_of(intent.environment)
    return Table(home, Keyspace(name.removeprefix(RECLAIMS)))
