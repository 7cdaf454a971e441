"""The ports that every store implements beside those of `tables.py`, and the values that they exchange.

Duties of every implementation, each proved by the conformance suite in `tests/backends/conformance.py`:

- Any number of calls may run concurrently, from any number of replicas.
- Each call is one atomic step on the store, except `page`, `drop`, `tidy` and `upgrade`.
- Every failure is a `BackendError`. A call that raised may have been applied. The adapter may repeat reads
  and these four; other calls only if nothing was done, because no connection was made or the store said so.
"""

from collections.abc import Sequence
from typing import NewType, Protocol

from msgspec import Struct

Keyspace = NewType("Keyspace", str)
"""The opaque identifier of one table's entries, never used twice."""


LATEST_MS = 253_402_300_799_999
"""The end of the year 9999; no entry expires later."""


class Charge(Struct, frozen=True, gc=False):
    """The decision on a charge, and how long the window stays open (1 or more milliseconds).

    `remaining` is the number of charges that the limit still admits in this window, after this one.
    """

    admitted: bool
    closes_in_ms: int
    remaining: int = 0


class WindowCounter(Protocol):
    """Charges by bucket, counted in windows that open at the first charge."""

    async def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Charge:
        """Admits exactly up to `limit` charges of `bucket` per window, over all replicas.

        An `amount` is admitted as a whole or not at all. A refused charge is not counted.
        """
        ...

    async def refund(self, bucket: str, charge: Charge, amount: int) -> None:
        """Takes back an admitted charge of `amount`, unless its window has closed."""
        ...


class Record(Struct, frozen=True, gc=False):
    """A document of the directory, and the version that a later swap must name.

    Foreign data in place of a record is returned as a document that fails to decode. So it does not hide the
    other records of its page, and a swap can replace or remove it.
    """

    document: bytes
    version: str


NamedRecord = tuple[str, Record]
"""A record with its name."""

LONGEST_PAGE = 1024
"""The largest number of records in one page."""


class Changes(Struct, frozen=True):
    """The names of swapped records, oldest first, and the position after the last of them.

    If `is_complete` is False, names may be missing, and any record may have changed. An answer may lack
    announcements that are not visible yet: `unsettled_ms` is then the age of the first read that missed one
    of them. All changes made before the answer that preceded that read have been named.
    """

    names: tuple[str, ...]
    position: str
    is_complete: bool
    unsettled_ms: int | None = None
    foreign: int = 0
    """The number of items in the feed that this gateway did not write; they are skipped."""


MAX_CHANGES = 1000
"""The largest number of names in one answer. More changes make the answer incomplete."""


class RecordStore(Protocol):
    """Small documents by name, changed by compare-and-swap, with a feed of changes (D160).

    A swap and its announcement in the feed are one atomic step.
    """

    async def read(self, name: str) -> Record | None:
        """Returns the record as last swapped; None if it does not exist."""
        ...

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        """Replaces the record with `document` if it still has the version `expected`.

        None as `expected` means that there must be no record; None as `document` removes it. Returns False,
        and changes nothing, if another writer came first.
        """
        ...

    async def changes(self, position: str | None) -> Changes:
        """Returns the names swapped since `position`, which an earlier answer contained.

        The answer is incomplete and has no names if the position is None or no longer in the feed. A reader
        that has not polled for an hour must expect that.
        """
        ...

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        """Returns, by name, the first `limit` (1 to `LONGEST_PAGE`) records whose names begin with `prefix`.

        Names up to and including `after` are skipped. It is empty or begins with `prefix`; no record needs to
        have that name. A page of fewer than `limit` records is the last one.
        """
        ...
