"""Operations as the arguments of a step, and stored entries."""

from struct import Struct as Layout

from backends.errors import CorruptEntry
from backends.tables import (
    AddToEntry,
    Condition,
    DeleteEntry,
    EntryOperation,
    GetEntry,
    ListEntries,
    PutEntry,
    Revision,
    StoredEntry,
    TouchEntry,
)

_FRONT = Layout(">BQ22s")
_VERSION = 2
_NEVER = 0
_FOREIGN = "an entry in Redis was not written by this gateway"


def arguments_of(operation: EntryOperation) -> tuple[bytes, ...]:
    """Encodes an operation for the script: its letter, the number of its arguments, its arguments."""
    match operation:
        case PutEntry():  # these two without fields in the pattern, which cost more than reading them
            entry = operation.entry
            new = _front(entry.expires_at_ms, entry.revision) + entry.value
            return b"P", b"3", operation.key.encode(), _condition(operation.condition), new
        case GetEntry():
            return b"G", b"1", operation.key.encode()
        case DeleteEntry(key, condition):
            return b"D", b"2", key.encode(), _condition(condition)
        case TouchEntry(key, expires_at_ms, revision, condition):
            return b"T", b"3", key.encode(), _condition(condition), _front(expires_at_ms, revision)
        case AddToEntry(key, by, expires_at_ms, revision):
            return b"A", b"3", key.encode(), b"%d" % by, _front(expires_at_ms, revision)
        case ListEntries(prefix, after, limit, has_values, page_bytes):
            numbers = b"%d" % limit, b"%d" % has_values, b"%d" % page_bytes
            return b"L", b"5", prefix.encode(), after.encode(), *numbers


def entry_in(stored: bytes) -> StoredEntry:
    """Decodes a stored entry. Raises CorruptEntry."""
    if len(stored) < _FRONT.size or stored[0] != _VERSION:
        raise CorruptEntry(_FOREIGN)
    _, expires_at_ms, revision = _FRONT.unpack_from(stored)
    return StoredEntry(stored[_FRONT.size :], expires_at_ms or None, Revision(revision.decode("latin-1")))


def _front(expires_at_ms: int | None, revision: Revision) -> bytes:
    return _FRONT.pack(_VERSION, expires_at_ms or _NEVER, revision.encode())


def _condition(condition: Condition) -> bytes:
    if condition.revision is not None:
        return b"=" + condition.revision.encode()
    if condition.exists is None:
        return b""
    return b"*" if condition.exists else b"-"
