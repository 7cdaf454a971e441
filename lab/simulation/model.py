"""A model of tables: plain dictionaries, to compare with what the store answers and counts.

Entries of the simulation do not expire, because the clocks of its replicas are apart.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from backends.interface import Keyspace
from backends.tables import (
    LARGEST_INTEGER,
    AddToEntry,
    Condition,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    NotInteger,
    Page,
    PutEntry,
    Removed,
    StoredEntry,
    Sum,
    Table,
    TouchEntry,
    Unmet,
    Written,
)


class Model:
    """The live entries of all tables. `max_bytes` is the true storage limit of each home that has one."""

    def __init__(self, max_bytes: Mapping[str, int]) -> None:
        self._max_bytes = max_bytes
        self._tables: dict[str, dict[Keyspace, dict[str, StoredEntry]]] = defaultdict(
            lambda: defaultdict(dict)
        )

    def bytes_of(self, home: str) -> int:
        return sum(_size(key, each) for table in self._tables[home].values() for key, each in table.items())

    def drop(self, tables: Sequence[Table]) -> None:
        for table in tables:
            for keyspaces in self._tables.values():
                keyspaces.pop(table.keyspace, None)

    def execute(self, table: Table, operation: EntryOperation) -> EntryResult:
        entries = self._tables[table.home][table.keyspace]
        if isinstance(operation, ListEntries):
            return _page(entries, operation)
        live = entries.get(operation.key)
        result, after = _effect(operation, live)
        if after is None:
            entries.pop(operation.key, None)
        elif after != live:
            grows_by = _size(operation.key, after) - _size(operation.key, live)
            most = self._max_bytes.get(table.home)
            if most is not None and grows_by > 0 and self.bytes_of(table.home) + grows_by > most:
                return NoRoom()
            entries[operation.key] = after
        return result


def _effect(operation: EntryOperation, live: StoredEntry | None) -> tuple[EntryResult, StoredEntry | None]:
    """Returns the result, and the entry that is left."""
    match operation:
        case PutEntry(_, entry, condition) if _holds(condition, live):
            return Written(entry.revision), entry
        case DeleteEntry(_, condition) if _holds(condition, live):
            return Removed(), None
        case TouchEntry(_, expires_at_ms, revision, condition) if _holds(condition, live):
            if live is None:
                return NoEntry(), None
            return Written(revision), StoredEntry(live.value, expires_at_ms, revision)
        case AddToEntry(_, by, expires_at_ms, revision):
            total = _integer(live)
            if total is None or abs(total + by) > LARGEST_INTEGER:
                return NotInteger(), live
            expires_at_ms = expires_at_ms if live is None else live.expires_at_ms
            entry = StoredEntry(str(total + by).encode(), expires_at_ms, revision)
            return Sum(total + by, expires_at_ms, revision), entry
        case GetEntry():
            return live or NoEntry(), live
    return Unmet(None if live is None else live.revision), live


def _holds(condition: Condition, live: StoredEntry | None) -> bool:
    if condition.revision is not None:
        return live is not None and live.revision == condition.revision
    return condition.exists in (None, live is not None)


def _integer(live: StoredEntry | None) -> int | None:
    """Returns the number under a key, 0 without an entry. Clients of the simulation store no odd numbers."""
    text = "0" if live is None else live.value.decode()
    return int(text) if text.removeprefix("-").isdecimal() else None


def _page(entries: Mapping[str, StoredEntry], listing: ListEntries) -> Page:
    behind = [
        key
        for key in sorted(entries, key=str.encode)
        if key.startswith(listing.prefix) and key.encode() > listing.after.encode()
    ]
    shown = tuple(
        (key, entries[key] if listing.has_values else StoredEntry(b"", None, entries[key].revision))
        for key in behind[: listing.limit]
    )
    return Page(shown, shown[-1][0] if len(behind) > len(shown) else None)


def _size(key: str, entry: StoredEntry | None) -> int:
    return 0 if entry is None else len(key.encode()) + len(entry.value)
