"""What is to be done about each intent: the reader of those that changes write.

An intent is read in one of three states:

- The table is in its app's document: the deletion has not swapped yet, or crashed before it did. After an
  hour it has crashed, and the intent is dropped.
- The table is gone: it is purged at once, which gives back nearly everything.
- It is gone, and for longer than any binding is remembered and any call takes: it is purged again, and the
  intent is dropped. Until then a replica may serve the table out of its memory, be it that it cannot read the
  directory, and a put that it began in time may reach the store after the first purge. Table ids are never
  used twice (D28), so no purge can meet entries of another table.

Time is what a replica's monotonic clock measures while an intent stays at one version, and parts of the wait
are written into the intent. A part begins after the version was written, and counts only for the replica that
swaps this version for the next. So parts do not overlap, their sum is never more than the time that has
passed, and neither wrong wall clocks nor restarts shorten the wait (D133).

An intent that fails costs itself alone. One that cannot be believed is first written anew (D191); one of an
app that is corrupt waits until that is mended or removed (D135).
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import NamedRecord, Record, RecordStore
from backends.paging import all_records
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.reclaim.sealing import Sealing
from gateway.directory.records import RECLAIMS, AppRecord, ReclaimRecord, app_name, encode, sealed
from gateway.directory.retention import Remembering

_ABANDONED_AFTER_MS = 3_600_000
_SLOWEST_CALL_MS = 30_000
_PARTS_OF_THE_WAIT = 4


class _Seen(Struct, frozen=True):
    """The version of an intent, and since when it has been seen (monotonic)."""

    version: str
    since_ms: int


class Intents:
    """The intents of a region, and since when this replica has seen each as it is."""

    def __init__(
        self, records: RecordStore, corrupt: CorruptRecords, remembering: Remembering, clock: Clock
    ) -> None:
        self._records = records
        self._corrupt = corrupt
        self._sealing = Sealing(records, corrupt)
        self._remembering = remembering
        self._now_ms = clock.monotonic_ms
        self._seen: dict[str, _Seen] = {}
        self.failures: list[BackendError] = []
        """Of the last round."""

    def __len__(self) -> int:
        """How many there were at the last look."""
        return len(self._seen)

    def forget(self) -> None:
        """Another replica follows them now."""
        self._seen.clear()

    async def are_there(self) -> bool:
        """Whether there is one at all. Raises BackendError."""
        return bool(await self._records.page(RECLAIMS, after="", limit=1))

    async def due(self, most: int, but: Collection[str] = ()) -> dict[str, str]:
        """The names and versions of the first whose tables are to be purged now. Raises BackendError.

        If all of them are in `but` there is none; else those come last. Everything that is to be done about
        the others is done.
        """
        self.failures = []
        intents = await self._sealed()
        wait_ms = _SLOWEST_CALL_MS + await self._remembering.longest_ms() if intents else 0
        self._look_at(intents)
        due: dict[str, str] = {}
        for name, record in sorted(intents, key=lambda intent: intent[0] in but):
            if len(due) == most or (name in but and not due):
                break
            try:
                if await self._is_due(name, record, wait_ms):
                    due[name] = record.version
            except BackendError as error:
                self.failures.append(error)
        return due

    async def are_due(self, intents: Mapping[str, str]) -> bool:
        """Whether all of them still have these versions and their tables are gone. Raises BackendError.

        What the lease says of a walk is believed no more than an intent is.
        """
        for name, version in intents.items():
            record = await self._records.read(name)
            intent = None if record is None else self._sealing.read(name, record)
            if record is None or intent is None or record.version != version:
                return False
            try:
                if await self._is_alive(intent, name.removeprefix(RECLAIMS)):
                    return False
            except CorruptRecord:
                return False  # it waits, and the others do not
        return True

    async def note_purged(self, name: str, version: str) -> None:
        """A purge that began at this version is over. Raises BackendError."""
        record = await self._records.read(name)
        if record is None or record.version != version:
            return
        intent = self._sealing.read(name, record)
        if intent is None:
            return  # its turn comes
        await self._swap(name, record, None if intent.is_purged else replace(intent, is_purged=True))

    async def _sealed(self) -> list[NamedRecord]:
        """All intents. Those that cannot be sealed now, because the store fails, cost no other its turn."""
        intents = [intent async for intent in all_records(self._records, RECLAIMS)]
        try:
            if await self._sealing.seal(intents):
                return [intent async for intent in all_records(self._records, RECLAIMS)]
        except BackendError as error:
            self.failures.append(error)
        return intents

    def _look_at(self, intents: Sequence[NamedRecord]) -> None:
        """Keep since when each version has been seen."""
        now_ms = self._now_ms()
        before, self._seen = self._seen, {}
        for name, record in intents:
            seen = before.get(name)
            is_known = seen is not None and seen.version == record.version
            self._seen[name] = seen if seen and is_known else _Seen(record.version, now_ms)

    async def _is_due(self, name: str, record: Record, wait_ms: int) -> bool:
        intent = self._sealing.read(name, record)
        if intent is None:
            return False
        seen_ms = self._now_ms() - self._seen[name].since_ms
        waited_ms = intent.waited_ms + seen_ms
        if intent.is_purged and waited_ms < wait_ms:
            if seen_ms * _PARTS_OF_THE_WAIT >= wait_ms:
                await self._swap(name, record, replace(intent, waited_ms=waited_ms))
            return False
        if not await self._is_alive(intent, name.removeprefix(RECLAIMS)):
            return True
        if seen_ms >= _ABANDONED_AFTER_MS:
            await self._swap(name, record, None)
        return False

    async def _is_alive(self, intent: ReclaimRecord, table_id: str) -> bool:
        if intent.environment is None:
            return False
        name = app_name(intent.environment)
        record = await self._records.read(name)
        return record is not None and table_id in self._corrupt.decode(name, record, AppRecord).table_ids

    async def _swap(self, name: str, record: Record, intent: ReclaimRecord | None) -> None:
        """Another replica that is first has done the same."""
        await self._records.swap(
            name, None if intent is None else encode(sealed(name, intent)), record.version
        )
