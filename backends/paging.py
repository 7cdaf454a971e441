"""All records of a prefix, read page by page."""

from collections.abc import AsyncIterator

from backends.interface import NamedRecord, RecordStore

_PAGE_RECORDS = 200
"""Small enough that a page blocks neither the store nor the event loop for long."""


async def all_records(records: RecordStore, prefix: str) -> AsyncIterator[NamedRecord]:
    """Yields the records whose names begin with `prefix`, ordered by name.

    Pages are read one after another, so this is no snapshot. A record that exists throughout is yielded
    exactly once; one that is created or removed meanwhile may be yielded or not.
    """
    after = ""
    while True:
        page = await records.page(prefix, after=after, limit=_PAGE_RECORDS)
        for name, record in page:
            yield name, record
        if len(page) < _PAGE_RECORDS:
            return
        after = page[-1][0]
