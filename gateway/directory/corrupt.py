"""Records that cannot be read: each is known by name, and costs the app that it belongs to, no other (D135).

A document is read through `CorruptRecords.decode` alone, so none is found corrupt and stays unnamed. What was
found is looked at again in the background, and forgotten once it is readable or gone.
"""

import logging
import re
from collections.abc import Collection
from contextlib import suppress

from backends.errors import CorruptEntry
from backends.interface import Record, RecordStore
from backends.paging import all_records
from gateway.directory.records import APPS, AppRecord, Document, decode, kind_of

_MOST_NAMES = 1000
_TABLE_ID = re.compile(rb"tbl_[0-9a-f]{32}(?![0-9a-f])")
_LOOKED_AT_ONCE = 200
"""Records of apps in a round, whatever the size of the region: 100,000 take a replica 8 hours (D162)."""

log = logging.getLogger("kvs.directory")


class CorruptRecord(CorruptEntry):
    """The record holds no document of its kind, or one that belongs under another name."""


class CorruptRecords:
    """The records that were found corrupt and may still be; of very many, the first thousand."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records
        self._names: set[str] = set()
        self._looked_until = ""

    def __len__(self) -> int:
        return len(self._names)

    def decode(self, name: str, record: Record, kind: type[Document]) -> Document:
        """The document in a record. Raises CorruptRecord, and remembers and logs the name."""
        try:
            return decode(name, record, kind)
        except CorruptEntry:
            self._note(name)
            raise CorruptRecord("a directory record cannot be read") from None

    async def look(self) -> None:
        """Find corrupt records among the next few apps, and forget what is readable or gone.

        Raises BackendError.
        """
        page = await self._records.page(APPS, after=self._looked_until, limit=_LOOKED_AT_ONCE)
        for name, record in page:
            with suppress(CorruptRecord):
                self.decode(name, record, AppRecord)
        self._looked_until = page[-1][0] if len(page) == _LOOKED_AT_ONCE else ""
        for name in list(self._names):
            found = await self._records.read(name)
            if found is None or _is_readable(name, found):
                self._names.discard(name)

    def _note(self, name: str) -> None:
        if name not in self._names and len(self._names) < _MOST_NAMES:
            self._names.add(name)
            shown = name.encode(errors="backslashreplace").decode()  # it may be no text
            log.error("a directory record is corrupt", extra={"fields": {"record": shown}})


def _is_readable(name: str, record: Record) -> bool:
    try:
        decode(name, record, kind_of(name))
    except CorruptEntry:
        return False
    return True


def table_ids_in(record: Record) -> set[str]:
    """What looks like the ids of managed tables in a record, corrupt or not."""
    return {table_id.decode() for table_id in _TABLE_ID.findall(record.document)}


async def find_holders(records: RecordStore, table_ids: Collection[str], *, but: str = "") -> dict[str, str]:
    """The names of the records of apps that have these ids in them, corrupt or not, except `but`; by id.

    Raises BackendError.
    """
    holders: dict[str, str] = {}
    async for name, record in all_records(records, APPS):
        if name != but:
            holders |= dict.fromkeys(table_ids_in(record).intersection(table_ids), name)
    return holders
