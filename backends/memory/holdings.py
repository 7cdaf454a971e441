"""All entries in memory, within their bounds: the room of the store and the storage limits of homes."""

from asyncio import sleep
from itertools import islice

from backends.effects import is_live, size_of
from backends.errors import StoreFull
from backends.interface import Keyspace
from backends.memory.expiries import ExpiryIndex
from backends.memory.held import HeldTable, cost_of, growth_of
from backends.tables import StoredEntry, Table

COLLECTED_PER_WRITE = 4
"""More than one, so collecting outruns filling; few, so no write is slow."""

REMOVED_AT_ONCE = 250
"""Entries that are removed in one turn of the event loop: half a millisecond."""


class Holdings:
    """Tables by keyspace. A table exists while it has entries.

    Invariant: `used_bytes` is the sum of the costs of all entries, and at most `max_bytes`.
    """

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.tables: dict[Keyspace, HeldTable] = {}
        self._homes: dict[str, list[HeldTable]] = {}
        self._expiries: ExpiryIndex[tuple[Keyspace, str]] = ExpiryIndex()
        self.used_bytes = 0

    def store(self, table: Table, key: str, entry: StoredEntry, now_ms: int) -> bool:
        """Puts an entry; returns False if the storage limit has no room. Raises StoreFull."""
        if self._expiries.first_end_ms <= now_ms:
            self._collect(now_ms, COLLECTED_PER_WRITE)
        replaced = self.entry(table, key)
        if table.max_bytes is not None:
            live = replaced if is_live(replaced, now_ms) else None
            grows_by = size_of(key, entry) - size_of(key, live)
            if grows_by > 0 and self._bytes_of(table, key, entry, replaced) > table.max_bytes:
                return False
        if self.used_bytes + growth_of(key, entry, replaced) > self._max_bytes:
            replaced = self._make_room(table, key, entry, now_ms)
        held = self.tables.get(table.keyspace)
        if held is None:
            held = self.tables[table.keyspace] = HeldTable(table.home, table.keyspace)
            self._homes.setdefault(table.home, []).append(held)
        self.used_bytes += growth_of(key, entry, replaced)
        held.put(key, entry, replaced)
        expires_at_ms = entry.expires_at_ms
        if replaced is not None and replaced.expires_at_ms is not None:
            self._expiries.remove((table.keyspace, key), replaced.expires_at_ms)
        if expires_at_ms is not None:
            self._expiries.add((table.keyspace, key), expires_at_ms)
        return True

    def remove(self, held: HeldTable, key: str) -> None:
        """Removes an entry, and its table with the last one."""
        entry = held.pop(key)
        self.used_bytes -= cost_of(key, entry)
        if entry.expires_at_ms is not None:
            self._expiries.remove((held.keyspace, key), entry.expires_at_ms)
        if held.by_key:
            return
        del self.tables[held.keyspace]
        home = self._homes[held.home]
        home.remove(held)
        if not home:
            del self._homes[held.home]

    def entry(self, table: Table, key: str) -> StoredEntry | None:
        """Returns an entry, possibly expired."""
        held = self.tables.get(table.keyspace)
        return None if held is None else held.by_key.get(key)

    def _bytes_of(self, table: Table, key: str, entry: StoredEntry, replaced: StoredEntry | None) -> int:
        """Returns the bytes that the home has once an entry replaces its predecessor, if any."""
        used_bytes = sum(held.bytes for held in self._homes.get(table.home, ()))
        return used_bytes + size_of(key, entry) - size_of(key, replaced)

    def _make_room(self, table: Table, key: str, entry: StoredEntry, now_ms: int) -> StoredEntry | None:
        """Collects expired entries until one fits in place of its predecessor, which is returned.

        The number of them is bounded by the size of the entry. Raises StoreFull.
        """
        while self.used_bytes + growth_of(key, entry, self.entry(table, key)) > self._max_bytes:
            if not self._collect(now_ms, 1):
                raise StoreFull("the memory store has reached max_bytes")
        return self.entry(table, key)

    def _collect(self, now_ms: int, most: int) -> int:
        """Removes up to `most` expired entries, the oldest first; returns their number."""
        collected = 0
        for keyspace, key in islice(self._expiries.due(now_ms), most):
            self.remove(self.tables[keyspace], key)
            collected += 1
        return collected

    async def collect_all(self, now_ms: int) -> bool:
        """Removes all expired entries, some in each turn of the loop; returns whether there were any."""
        has_any = False
        while self._collect(now_ms, REMOVED_AT_ONCE):
            has_any = True
            await sleep(0)
        for keyspace, key in self._expiries.perhaps_due(now_ms):
            held = self.tables[keyspace]
            if not is_live(held.by_key[key], now_ms):
                self.remove(held, key)
                has_any = True
        return has_any
