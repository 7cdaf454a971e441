"""Which intents may be believed: no purge meets a table that is alive, whatever the store holds (D191).

An intent carries its writer's seal: a checksum of what it says and of the table that it is named after.
So one that was damaged, copied under another name or written by somebody else is known for what it is. Of its
table nothing is believed but the name: the whole directory is looked through, once for all such intents, for
the app that has the table, and each is written anew with a seal. Those of versions without seals are treated
the same way.

Only managed tables are ever purged. Their ids are drawn at random, so a name that has another form is none.
"""

from collections.abc import Iterable

from backends.interface import NamedRecord, Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords, find_holders, table_ids_in
from gateway.directory.records import RECLAIMS, ReclaimRecord, encode, environment_in, sealed


class Sealing:
    """Reads sealed intents, and seals others."""

    def __init__(self, records: RecordStore, corrupt: CorruptRecords) -> None:
        self._records = records
        self._corrupt = corrupt

    def read(self, name: str, record: Record) -> ReclaimRecord | None:
        """A sealed intent of a managed table; None: it may not be believed."""
        intent = self._decoded(name, record)
        return intent if intent is not None and intent.seal is not None and _table_of(name) else None

    async def seal(self, intents: Iterable[NamedRecord]) -> bool:
        """Write those anew that may not be believed, and tell whether there are any. Raises BackendError."""
        doubtful = {
            name: record
            for name, record in intents
            if self.read(name, record) is None and _table_of(name) is not None
        }
        tables = {name.removeprefix(RECLAIMS) for name in doubtful}
        holders = await find_holders(self._records, tables) if tables else {}
        for name, record in doubtful.items():
            await self._write_anew(name, record, holders.get(name.removeprefix(RECLAIMS)))
        return bool(doubtful)

    async def _write_anew(self, name: str, record: Record, holder: str | None) -> None:
        """For the app that has the table. One that nobody has may be of a corrupt app, as the intent says."""
        intent = self._decoded(name, record) or ReclaimRecord(None)
        if holder is not None:
            intent = ReclaimRecord(environment_in(holder))
            if intent.environment is None:
                return  # no app, and yet it names the table
        await self._records.swap(name, encode(sealed(name, intent)), record.version)

    def _decoded(self, name: str, record: Record) -> ReclaimRecord | None:
        try:
            return self._corrupt.decode(name, record, ReclaimRecord)
        except CorruptRecord:
            return None


def _table_of(name: str) -> str | None:
    """The id of the managed table whose intent has this name; None for other names."""
    table_id = name.removeprefix(RECLAIMS)
    is_managed = table_ids_in(Record(table_id.encode(errors="surrogateescape"), "")) == {table_id}
    return table_id if is_managed and name != table_id else None
