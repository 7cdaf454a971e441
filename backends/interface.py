"""The three ports that every store implements, and the values they exchange.

Duties of every implementation, each proved by the conformance suite in
`tests/backends/conformance.py`:

- Any number of calls may run at once, from any number of replicas.
- Each call is one atomic step on the store, `purge` and `page` excepted.
- Absent is `None`; deleting the absent succeeds; every failure is a `BackendError`.
- A call that raised may have been applied. The adapter may repeat `read`, `get`, `page` and `purge`, the
  others only if nothing was done: no connection was made, or the store said so.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NewType, Protocol

from msgspec import Struct

Keyspace = NewType("Keyspace", str)
"""Names one table's entries: an opaque identifier that is never used twice."""


LATEST_MS = 253_402_300_799_999
"""The end of the year 9999; no entry expires later."""


class Entry(Struct, frozen=True, gc=False):
    """A stored value: opaque bytes, and the wall-clock millisecond from which it counts as missing."""

    value: bytes
    expires_at_ms: int | None


class PurgeStep(Struct, frozen=True):
    """What one step of a purge came to.

    It has looked at about so many keys, removed so many entries, and taken so many commands; each removal
    is one. `cursor` is where the next step begins; None: this was the last one.
    """

    cursor: str | None
    scanned: int
    deleted: int
    commands: int


class EntryStore(Protocol):
    """Entries by keyspace and key (non-empty text, at most 512 bytes of UTF-8)."""

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        """Replace value and expiry together. An entry without expiry clears an earlier one."""
        ...

    async def get(self, keyspace: Keyspace, key: str) -> Entry | None:
        """The last acknowledged put. May still return an expired entry: the caller judges by its clock."""
        ...

    async def delete(self, keyspace: Keyspace, key: str) -> None:
        """Remove the entry if it is there."""
        ...

    async def purge(self, keyspaces: Sequence[Keyspace], cursor: str | None) -> PurgeStep:
        """One small step of removing all entries of `keyspaces`, which are not used any more.

        There is one at least. Begin without a cursor, and go on, on any replica, with that of the step before
        and the same keyspaces in the same order. A cursor that the store does not know (any more) begins
        anew. A step may be repeated. What is put meanwhile may stay.
        """
        ...


class Charge(Struct, frozen=True, gc=False):
    """A counter's verdict, and how long its window stays open (1 or more milliseconds).

    `remaining` is what the limit still admits in this window, this charge counted.
    """

    admitted: bool
    closes_in_ms: int
    remaining: int = 0


class WindowCounter(Protocol):
    """Counts charges in windows that open at a bucket's first charge."""

    async def charge(self, bucket: str, limit: int, window_ms: int) -> Charge:
        """Admit at most `limit` charges of `bucket` per window, exactly, over all replicas.

        A refused charge is not counted.
        """
        ...


class Record(Struct, frozen=True, gc=False):
    """A document of the directory and the version that a later swap must name.

    What somebody else wrote in its place is delivered, too, with a document that no reader will understand:
    one such record must not hide the others of a list, and a swap can replace or remove it.
    """

    document: bytes
    version: str


NamedRecord = tuple[str, Record]
"""A record with its name."""

LONGEST_PAGE = 1024
"""The most records that are read at once."""


class Changes(Struct, frozen=True):
    """The names of records that were swapped, oldest first, and the position behind the last of them.

    `is_complete` False: others may be missing, so every record may have changed.
    """

    names: tuple[str, ...]
    position: str
    is_complete: bool


MAX_CHANGES = 1000
"""So many are told in one answer. More than those are an incomplete one."""


class RecordStore(Protocol):
    """Small documents by name, changed by compare-and-swap. A feed tells what was changed (D160).

    A swap and its announcement in the feed are one atomic step.
    """

    async def read(self, name: str) -> Record | None:
        """The record's last swapped state."""
        ...

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        """Write `document` (None: remove) if the record still has version `expected` (None: is absent).

        Returns False, and changes nothing, if another writer was first.
        """
        ...

    async def changes(self, position: str | None) -> Changes:
        """What was swapped since `position`, which an earlier answer gave.

        Incomplete, and without names, if the position is None or the feed does not have it any more. A reader
        that has not asked for an hour begins anew.
        """
        ...

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        """The first `limit` (1 to `LONGEST_PAGE`) records whose names begin with `prefix`, ordered by name.

        With `after`, which is empty or begins with `prefix`, those whose names come after it; no record needs
        to have that name. Fewer than `limit` are the last ones.
        """
        ...


class AdapterSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of what a store can be set to. Its values are not shown, because some are secret."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Keys whose values are well-formed and yet impossible, and why."""
        yield from ()

    def mistakes_of_files(self) -> Iterator[tuple[str, str]]:
        """Keys that name files which cannot be used, and why."""
        yield from ()


class StoreWarning(StrEnum):
    """What a store's own settings endanger, though it answers."""

    EVICTION = "eviction"
    """It may drop counters and entries to make room."""

    ISOLATED_MASTER = "isolated_master"
    """A master that is cut off from its replicas goes on acknowledging writes."""


class Backend(Protocol):
    """One opened store."""

    @property
    def name(self) -> str:
        """The kind of store, as the configuration and the metrics call it."""
        ...

    @property
    def entries(self) -> EntryStore: ...

    @property
    def counters(self) -> WindowCounter: ...

    @property
    def records(self) -> RecordStore: ...

    async def ping(self) -> None:
        """Raise a `BackendError` unless the store answers."""
        ...

    @property
    def clock_lead_seconds(self) -> float | None:
        """How far this machine's wall clock led the store's at the last ping; None if unknown."""
        ...

    @property
    def warnings(self) -> Mapping[StoreWarning, bool]:
        """Whether each warning held at the last ping; those are missing of which nothing is known."""
        ...

    def apply(self, settings: AdapterSettings) -> bool:
        """Use the credentials in `settings`, which may be those of any store, from the next connection on.

        Returns False, and changes nothing, if anything else differs from what this store was opened with.
        """
        ...

    async def close(self) -> None:
        """Give connections back; may be repeated."""
        ...
