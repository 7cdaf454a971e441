"""All records of a prefix, a page at a time."""

from collections.abc import AsyncIterator

from backends.interface import NamedRecord, RecordStore

_PER_PAGE = 200
"""Few enough that neither a store nor an event loop is held for long."""


async def walk(records: RecordStore, prefix: str) -> AsyncIterator[NamedRecord]:
    """Records whose names begin with `prefix`, ordered by name: each that is there all the while, once."""
    after = ""
    while True:
        page = await records.page(prefix, after=after, limit=_PER_PAGE)
        for name, record in page:
            yield name, record
        if len(page) < _PER_PAGE:
            return
        after = page[-1][0]
