"""Directory records in memory."""

from collections.abc import AsyncIterator
from itertools import count

from backends.interface import Record


class MemoryRecordStore:
    """A `RecordStore`. Versions are never used twice, so a re-created record is a new one."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._versions = count(1)

    async def read(self, name: str) -> Record | None:
        return self._records.get(name)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        current = self._records.get(name)
        if (None if current is None else current.version) != expected:
            return False
        if document is None:
            self._records.pop(name, None)
        else:
            self._records[name] = Record(document, str(next(self._versions)))
        return True

    async def list(self, prefix: str) -> AsyncIterator[tuple[str, Record]]:
        for name in sorted(name for name in self._records if name.startswith(prefix)):
            record = self._records.get(name)
            if record is not None:
                yield name, record
