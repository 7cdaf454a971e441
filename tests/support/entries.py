"""Entries of a store's tables, as most tests use them: without charges, conditions and revisions.

Each table is the only one of its app environment, unless a test names another home.
"""

from dataclasses import dataclass
from typing import Protocol

from backends.clock import SystemClock
from backends.interface import Keyspace
from backends.tables import (
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    NoEntry,
    PutEntry,
    Removed,
    Revisions,
    StoredEntry,
    Table,
    TableCount,
    TableStore,
    Written,
)

_WALL = SystemClock()
_REVISIONS = Revisions()


@dataclass(frozen=True)
class Entry:
    """A stored value, and the wall-clock millisecond from which it is expired."""

    value: bytes
    expires_at_ms: int | None


class Tables(Protocol):
    """A store, by the part that these functions use."""

    @property
    def tables(self) -> TableStore: ...


def table_of(keyspace: Keyspace) -> Table:
    return Table(f"home-of-{keyspace}", keyspace)


async def put(
    store: Tables, keyspace: Keyspace | Table, key: str, entry: Entry, *, now_ms: int | None = None
) -> None:
    stored = StoredEntry(entry.value, entry.expires_at_ms, _REVISIONS.next())
    assert await _execute(store, keyspace, PutEntry(key, stored), now_ms) == Written(stored.revision)


async def get(
    store: Tables, keyspace: Keyspace | Table, key: str, *, now_ms: int | None = None
) -> Entry | None:
    """Returns the live entry, or None."""
    found = await _execute(store, keyspace, GetEntry(key), now_ms)
    if isinstance(found, StoredEntry):
        return Entry(found.value, found.expires_at_ms)
    assert found == NoEntry()
    return None


async def delete(store: Tables, keyspace: Keyspace | Table, key: str, *, now_ms: int | None = None) -> None:
    assert await _execute(store, keyspace, DeleteEntry(key), now_ms) == Removed()


async def count(store: Tables, keyspace: Keyspace | Table, *, now_ms: int | None = None) -> TableCount:
    return await store.tables.count(_table(keyspace), _WALL.wall_ms() if now_ms is None else now_ms)


async def drop(store: Tables, *keyspaces: Keyspace | Table) -> None:
    await store.tables.drop([_table(each) for each in keyspaces])


async def _execute(
    store: Tables, keyspace: Keyspace | Table, operation: EntryOperation, now_ms: int | None
) -> EntryResult:
    now_ms = _WALL.wall_ms() if now_ms is None else now_ms
    return await store.tables.execute(_table(keyspace), operation, now_ms)


def _table(keyspace: Keyspace | Table) -> Table:
    return keyspace if isinstance(keyspace, Table) else table_of(keyspace)
