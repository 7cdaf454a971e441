"""Effects of operations on the live entry under their key: pure functions, for stores that compute here.

Redis and DynamoDB state the same rules in their own languages; the conformance suite compares all of them.
"""

import re

from msgspec import Struct

from backends.tables import (
    LARGEST_INTEGER,
    AddToEntry,
    Condition,
    DeleteEntry,
    EntryResult,
    GetEntry,
    NoEntry,
    NotInteger,
    PutEntry,
    Removed,
    StoredEntry,
    Sum,
    TouchEntry,
    Unmet,
    Written,
)

_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]{0,15})")

SingleOperation = GetEntry | PutEntry | DeleteEntry | TouchEntry | AddToEntry
"""An operation on one key."""


class Effect(Struct, frozen=True, gc=False):
    """The result of an operation, and the entry that it leaves: equal to the live one if nothing changes."""

    result: EntryResult
    entry: StoredEntry | None


def effect_of(operation: SingleOperation, live: StoredEntry | None) -> Effect:
    """Returns the effect of an operation, without regard to the storage limit."""
    match operation:
        case GetEntry():
            return Effect(live or NoEntry(), live)
        case AddToEntry():
            return _add(operation, live)
    if not holds(operation.condition, live):
        return Effect(Unmet(live.revision if live else None), live)
    match operation:
        case PutEntry(entry=entry):
            return Effect(Written(entry.revision), entry)
        case DeleteEntry():
            return Effect(Removed(), None)
    if live is None:
        return Effect(NoEntry(), None)
    touched = StoredEntry(live.value, operation.expires_at_ms, operation.revision)
    return Effect(Written(operation.revision), touched)


def holds(condition: Condition, live: StoredEntry | None) -> bool:
    """Returns whether a condition holds of the live entry."""
    if condition.revision is not None:
        return live is not None and live.revision == condition.revision
    return condition.exists is None or condition.exists == (live is not None)


def integer_of(value: bytes) -> int | None:
    """Returns the JSON integer that a value is, or None if it is none, or out of range."""
    text = value.strip(b" \t\r\n")
    integer = int(text) if _INTEGER.fullmatch(text) else None
    return integer if integer is not None and abs(integer) <= LARGEST_INTEGER else None


def is_live(entry: StoredEntry | None, now_ms: int) -> bool:
    """Returns whether there is an entry, and it has not expired."""
    return entry is not None and (entry.expires_at_ms is None or entry.expires_at_ms > now_ms)


def size_of(key: str, entry: StoredEntry | None) -> int:
    """Returns the bytes that an entry counts for: its key in UTF-8 and its value."""
    if entry is None:
        return 0
    return (len(key) if key.isascii() else len(key.encode())) + len(entry.value)


def _add(operation: AddToEntry, live: StoredEntry | None) -> Effect:
    before = 0 if live is None else integer_of(live.value)
    if before is None or abs(before + operation.by) > LARGEST_INTEGER:
        return Effect(NotInteger(), live)
    after = before + operation.by
    expires_at_ms = operation.expires_at_ms if live is None else live.expires_at_ms
    stored = StoredEntry(b"%d" % after, expires_at_ms, operation.revision)
    return Effect(Sum(after, expires_at_ms, operation.revision), stored)
