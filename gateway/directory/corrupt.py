"""Records that cannot be decoded: each is logged by name and affects only its own app (D135).

Every document is decoded by `CorruptRecords.decode`, so no corrupt record goes unnoticed. A background check
reads the noted records again and drops those that have become readable or are gone.
"""

import asyncio
import logging
import re
from collections.abc import Collection
from contextlib import suppress

from backends.errors import CorruptEntry
from backends.interface import Record, RecordStore
from backends.paging import all_records
from gateway.directory.records import (
    APPS,
    AppRecord,
    Document,
    TableRecord,
    decode,
    environment_in,
    kind_of,
)

_MAX_NAMES = 1000
_TABLE_ID = re.compile(rb"(?:tbl|t2)_[0-9a-f]{32}(?![0-9a-f])")
_SCANNED_PER_ROUND = 200
"""App records checked per round, whatever the size of the region: 100,000 take 8 hours (D135)."""

_SCANNED_PER_STEP = 10
"""App records checked before other tasks run: one of 1,000 tables takes 0.2 ms."""

log = logging.getLogger("kvs.directory")


class CorruptRecord(CorruptEntry):
    """The record holds no document of its kind, or a document that belongs under another name."""


class CorruptRecords:
    """Names of the records that were found corrupt and may still be so, at most the first thousand."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records
        self._names: set[str] = set()
        self._scanned_until = ""

    def __len__(self) -> int:
        return len(self._names)

    def decode(self, name: str, record: Record, kind: type[Document]) -> Document:
        """Returns the document in a record. Raises CorruptRecord after noting and logging the name."""
        try:
            return decode(name, record, kind)
        except CorruptEntry:
            self._note(name)
            raise CorruptRecord("a directory record cannot be read") from None

    async def salvage(self, name: str, record: Record) -> AppRecord:
        """Returns the app in a record. A corrupt one has at least its name and tables, so it can be removed.

        A table id counts only if no other app's record contains it (D135): a corrupt record may hold bytes of
        another document, and a removal deletes the tables that it returns. Raises BackendError.
        """
        try:
            return self.decode(name, record, AppRecord)
        except CorruptRecord:
            environment = environment_in(name)
            if environment is None:
                raise
            ids = table_ids_in(record)
            own = ids - set(await find_holders(self._records, ids, excluding=name))
            tables = tuple(TableRecord(id=table_id, name="", token_sha256="") for table_id in sorted(own))
            return AppRecord(environment, type="", active=False, tables=tables)

    async def scan(self) -> None:
        """Checks the next few app records and the noted names. Raises BackendError."""
        page = await self._records.page(APPS, after=self._scanned_until, limit=_SCANNED_PER_ROUND)
        for number, (name, record) in enumerate(page, 1):
            with suppress(CorruptRecord):
                self.decode(name, record, AppRecord)
            if number % _SCANNED_PER_STEP == 0:
                await asyncio.sleep(0)
        self._scanned_until = page[-1][0] if len(page) == _SCANNED_PER_ROUND else ""
        for name in list(self._names):
            found = await self._records.read(name)
            if found is None or _is_readable(name, found):
                self._names.discard(name)

    def _note(self, name: str) -> None:
        if name not in self._names and len(self._names) < _MAX_NAMES:
            self._names.add(name)
            shown = name.encode(errors="backslashreplace").decode()  # a name may hold surrogates
            log.error("a directory record is corrupt", extra={"fields": {"record": shown}})


def _is_readable(name: str, record: Record) -> bool:
    try:
        decode(name, record, kind_of(name))
    except CorruptEntry:
        return False
    return True


def table_ids_in(record: Record) -> set[str]:
    """Returns all ids of managed tables in the bytes of a record, corrupt or not."""
    return {table_id.decode() for table_id in _TABLE_ID.findall(record.document)}


async def find_holders(
    records: RecordStore, table_ids: Collection[str], *, excluding: str = ""
) -> dict[str, str]:
    """Returns by table id the name of the app record, corrupt or not, whose bytes contain it.

    Reads all app records. Raises BackendError.
    """
    holders: dict[str, str] = {}
    async for name, record in all_records(records, APPS):
        if name != excluding:
            holders |= dict.fromkeys(table_ids_in(record).intersection(table_ids), name)
    return holders
