"""The documents of managed apps: found, changed, removed even if they are corrupt."""

from backends.clock import Clock
from backends.interface import Record, RecordStore
from gateway.directory.apps.changes import Change, Changed, Make
from gateway.directory.corrupt import CorruptRecord, CorruptRecords, find_holders, table_ids_in
from gateway.directory.errors import AppNotFound
from gateway.directory.records import APPS, AppRecord, TableRecord, app_name
from gateway.domain.model import Environment


class AppDocuments:
    """The directory's documents, by app environment. All methods raise BackendError."""

    def __init__(self, records: RecordStore, corrupt: CorruptRecords, clock: Clock) -> None:
        self._records = records
        self._corrupt = corrupt
        self._clock = clock

    async def find(self, environment: Environment) -> AppRecord:
        """The document. Raises AppNotFound."""
        name = app_name(environment)
        record = await self._records.read(name)
        if record is None:
            raise AppNotFound
        return await self._decoded(name, record)

    async def change(self, environment: Environment, make: Make) -> Changed:
        """What `make` has changed, in force. Raises what `make` raises, and ChangeUnknown."""
        change = Change(self._records, environment, self._decoded, make)
        return await change.run(self._clock.wall_ms())

    async def remove(self, environment: Environment) -> None:
        """Remove the document, and with it the tables, as far as they are known. Raises AppNotFound."""

        def remove(app: AppRecord | None) -> None:
            if app is None:
                raise AppNotFound

        change = Change(self._records, environment, self._salvaged, remove)
        await change.run(self._clock.wall_ms())

    async def _decoded(self, name: str, record: Record) -> AppRecord:
        return self._corrupt.decode(name, record, AppRecord)

    async def _salvaged(self, name: str, record: Record) -> AppRecord:
        """The app, or of a corrupt one its name and those table ids in it that no other app has (D135)."""
        try:
            return await self._decoded(name, record)
        except CorruptRecord:
            ids = table_ids_in(record)
            own = ids - set(await find_holders(self._records, ids, but=name))
            environment = Environment(*name.removeprefix(APPS).split("/"))
            tables = tuple(TableRecord(id=table_id, name="", token_sha256="") for table_id in sorted(own))
            return AppRecord(environment, type="", active=False, tables=tables)
