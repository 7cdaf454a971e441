"""Items of entries, and the conditions under which they are written.

Attributes: v the value, or i the integer that an increment made of it; x expires at (ms); r revision. Items
of version 0.2 have no r: their revision is a digest of value and expiry.
"""

from hashlib import sha256

from msgspec import Struct, field

from backends.dynamodb.items import (
    Binary,
    Number,
    Text,
    Value,
    collectable_from,
    entry_key,
    number,
)
from backends.effects import is_live
from backends.errors import CorruptEntry
from backends.interface import LATEST_MS
from backends.tables import Condition, Revision, StoredEntry, Table

IS_LIVE = "(attribute_not_exists(x) OR x > :now)"
"""Holds of an item that has not expired, and of a missing one."""

_OF_OLD = "0."
"""Begins the revisions of items of version 0.2. Written revisions have no dot."""


class EntryItem(Struct, frozen=True):
    """The item of an entry, possibly expired."""

    key: Text = field(name="sk", default=Text(""))
    value: Binary | None = field(name="v", default=None)
    integer: Number | None = field(name="i", default=None)
    expiry: Number | None = field(name="x", default=None)
    revision: Text | None = field(name="r", default=None)

    @property
    def expires_at_ms(self) -> int | None:
        """When the entry expires. Raises CorruptEntry."""
        expires_at_ms = None if self.expiry is None else int(self.expiry)
        if expires_at_ms is not None and expires_at_ms > LATEST_MS:
            raise CorruptEntry("an entry in DynamoDB has an impossible expiry")
        return expires_at_ms

    def entry(self) -> StoredEntry:
        """Returns the entry. Raises CorruptEntry."""
        expires_at_ms = self.expires_at_ms
        if self.integer is not None:
            value = b"%d" % int(self.integer)
        elif self.value is not None:
            value = self.value.value
        else:
            raise CorruptEntry("an entry in DynamoDB has no value")
        revision = self.revision.value if self.revision else _digest(value, expires_at_ms)
        return StoredEntry(value, expires_at_ms, Revision(revision))

    def entry_without_value(self) -> StoredEntry:
        """Returns the entry of an item that was read without its value."""
        revision = self.revision.value if self.revision else ""
        return StoredEntry(b"", self.expires_at_ms, Revision(revision))


class Guard(Struct, frozen=True):
    """A condition in DynamoDB's words, and the values that it names."""

    expression: str
    values: dict[str, Value]


def live_entry(item: EntryItem | None, now_ms: int) -> StoredEntry | None:
    """Returns the entry of an item unless it has expired. Raises CorruptEntry."""
    entry = None if item is None else item.entry()
    return entry if is_live(entry, now_ms) else None


def item_of(table: Table, key: str, entry: StoredEntry, integer: int | None = None) -> dict[str, Value]:
    """Builds the item of an entry. `integer` takes the place of the value that it equals."""
    item: dict[str, Value] = {**entry_key(table.keyspace, key), "r": {"S": entry.revision}}
    if integer is None:
        item["v"] = {"B": entry.value}
    else:
        item["i"] = number(integer)
    if entry.expires_at_ms is not None:
        item["x"] = number(entry.expires_at_ms)
        item["t"] = collectable_from(entry.expires_at_ms)
    return item


def is_of_old(condition: Condition) -> bool:
    """Returns whether a condition names the revision of an item of version 0.2."""
    return condition.revision is not None and condition.revision.startswith(_OF_OLD)


def guard_of(condition: Condition, now_ms: int) -> Guard:
    """Returns the guard for a condition other than ANY and those of version 0.2."""
    now = {":now": number(now_ms)}
    if condition.revision is not None:
        return Guard(f"r = :expected AND {IS_LIVE}", {":expected": {"S": condition.revision}, **now})
    if condition.exists:
        return Guard(f"attribute_exists(pk) AND {IS_LIVE}", now)
    return Guard("attribute_not_exists(pk) OR x <= :now", now)


def unchanged(item: EntryItem | None) -> Guard:
    """Returns the guard that holds only while an item is as it was read; None means no item.

    An item without a revision is compared as a whole, because replicas of version 0.2 may still replace it by
    another one.
    """
    if item is None:
        return Guard("attribute_not_exists(pk)", {})
    if item.revision is not None:
        return Guard("r = :was", {":was": {"S": item.revision.value}})
    values: dict[str, Value] = {":value": {"B": item.value.value if item.value else b""}}
    if item.expiry is None:
        return Guard("attribute_not_exists(r) AND v = :value AND attribute_not_exists(x)", values)
    values[":expiry"] = number(int(item.expiry))
    return Guard("attribute_not_exists(r) AND v = :value AND x = :expiry", values)


def _digest(value: bytes, expires_at_ms: int | None) -> str:
    return _OF_OLD + sha256(b"%d %b" % (expires_at_ms or 0, value)).hexdigest()[:20]
