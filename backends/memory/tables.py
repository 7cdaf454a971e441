"""Tables in memory: each step is one turn of the event loop, hence atomic."""

from asyncio import sleep
from collections.abc import Callable, Sequence
from itertools import islice

from sortedcontainers import SortedDict, SortedList

from backends.effects import effect_of, is_live, size_of
from backends.errors import StoreFull
from backends.interface import Charge, Keyspace
from backends.tables import (
    Charges,
    Done,
    EntryOperation,
    EntryResult,
    ListEntries,
    NoRoom,
    Page,
    Refused,
    Step,
    StoredEntry,
    Table,
    TableCount,
    UpgradeStep,
)

ENTRY_OVERHEAD_BYTES = 400
"""Upper bound on the cost of an entry beside its key and value: objects, dictionary slot, place in order."""

EXPIRY_OVERHEAD_BYTES = 200
"""Upper bound on the extra cost of an expiry: a place in the order of expiries."""

COLLECTED_PER_STEP = 4
"""More than one, so collecting outruns filling; few, so no step is slow."""

COLLECTED_AT_ONCE = 250
"""Expired entries that are removed in one turn of the event loop."""

ChargeAll = Callable[[Charges], Refused | tuple[Charge, ...]]
"""Charges all budgets, or none."""


_Expiry = tuple[int, Keyspace, str]
"""When an entry expires, its table and its key."""

_NO_TABLE = Keyspace("")


class _Entries:
    """The entries of one table in the order of their keys, and the sum of their sizes."""

    __slots__ = ("by_key", "bytes", "home")

    def __init__(self, home: str) -> None:
        self.home = home
        self.by_key: SortedDict[str, StoredEntry] = SortedDict()
        self.bytes = 0


class MemoryTables:
    """A `ChargedStore` and `TableStore` that holds at most `max_bytes`, by its own estimate per entry."""

    def __init__(self, charge_all: ChargeAll, *, max_bytes: int) -> None:
        self._charge_all = charge_all
        self._max_bytes = max_bytes
        self._tables: dict[Keyspace, _Entries] = {}
        self._home_bytes: dict[str, int] = {}
        self._expiries: SortedList[_Expiry] = SortedList()
        self.used_bytes = 0

    async def step(
        self, charges: Charges, table: Table, operations: Sequence[EntryOperation], now_ms: int
    ) -> Step:
        charged = self._charge_all(charges)
        if isinstance(charged, Refused):
            return charged
        return Done(charged, tuple(self._execute(table, each, now_ms) for each in operations))

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        return self._execute(table, operation, now_ms)

    async def count(self, table: Table, now_ms: int) -> TableCount:
        self._collect(now_ms, len(self._expiries))
        entries = self._tables.get(table.keyspace)
        if entries is None:
            return TableCount(0, 0, now_ms, is_exact=True)
        return TableCount(len(entries.by_key), entries.bytes, now_ms, is_exact=True)

    async def drop(self, tables: Sequence[Table]) -> None:
        for table in tables:
            entries = self._tables.get(table.keyspace)
            for key in list(entries.by_key) if entries is not None else ():
                self._store(table, key, None)

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:  # noqa: ARG002 - all have one order
        has_more = True
        while has_more:
            has_more = self._collect(now_ms, COLLECTED_AT_ONCE) == COLLECTED_AT_ONCE
            await sleep(0)

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep:  # noqa: ARG002
        return UpgradeStep(None)

    def _execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        self._collect(now_ms, COLLECTED_PER_STEP)
        if isinstance(operation, ListEntries):
            return self._page(table, operation, now_ms)
        stored = self._entry(table.keyspace, operation.key)
        live = stored if is_live(stored, now_ms) else None
        effect = effect_of(operation, live)
        if effect.entry is live:
            return effect.result
        if effect.entry is not None:
            if not self._fits_home(table, operation.key, effect.entry, now_ms):
                return NoRoom()
            self._make_room(table.keyspace, operation.key, effect.entry, now_ms)
        self._store(table, operation.key, effect.entry)
        return effect.result

    def _page(self, table: Table, listing: ListEntries, now_ms: int) -> Page:
        entries = self._tables.get(table.keyspace)
        found: list[tuple[str, StoredEntry]] = []
        if entries is None:
            return Page((), None)
        page_bytes = 0
        begins_behind = listing.after >= listing.prefix and listing.after != ""
        keys = entries.by_key.irange(
            listing.after if begins_behind else listing.prefix, inclusive=(not begins_behind, True)
        )
        for key in keys:
            if not key.startswith(listing.prefix):
                break
            entry = entries.by_key[key]
            if not is_live(entry, now_ms):
                continue
            if len(found) == listing.limit or page_bytes >= listing.page_bytes:
                return Page(tuple(found), found[-1][0])
            shown = entry if listing.has_values else StoredEntry(b"", entry.expires_at_ms, entry.revision)
            found.append((key, shown))
            page_bytes += size_of(key, shown)
        return Page(tuple(found), None)

    def _fits_home(self, table: Table, key: str, entry: StoredEntry, now_ms: int) -> bool:
        """Returns whether the storage limit admits an entry in place of its predecessor.

        An entry that takes no more bytes than the live one it replaces always fits.
        """
        if table.max_bytes is None:
            return True
        self._collect(now_ms, len(self._expiries))
        grows_by = size_of(key, entry) - size_of(key, self._entry(table.keyspace, key))
        return grows_by <= 0 or self._home_bytes.get(table.home, 0) + grows_by <= table.max_bytes

    def _make_room(self, keyspace: Keyspace, key: str, entry: StoredEntry, now_ms: int) -> None:
        """Collects expired entries until this one fits in place of its predecessor. Raises StoreFull."""
        needed = _cost(key, entry) - self._max_bytes
        while self.used_bytes + needed > _cost(key, self._entry(keyspace, key)):
            if not self._collect(now_ms, 1):
                raise StoreFull("the memory store has reached max_bytes")

    def _collect(self, now_ms: int, most: int) -> int:
        """Removes up to `most` expired entries, the oldest first; returns their number."""
        due = list(islice(self._expiries.irange(maximum=(now_ms + 1, _NO_TABLE, "")), most))
        for _, keyspace, key in due:
            self._store(Table(self._tables[keyspace].home, keyspace), key, None)
        return len(due)

    def _entry(self, keyspace: Keyspace, key: str) -> StoredEntry | None:
        entries = self._tables.get(keyspace)
        return None if entries is None else entries.by_key.get(key)

    def _store(self, table: Table, key: str, entry: StoredEntry | None) -> None:
        """Replaces an entry, and all that is counted of it."""
        entries = self._tables.get(table.keyspace)
        if entries is None:
            entries = self._tables[table.keyspace] = _Entries(table.home)
        replaced = entries.by_key.pop(key, None)
        if replaced is not None and replaced.expires_at_ms is not None:
            self._expiries.remove((replaced.expires_at_ms, table.keyspace, key))
        if entry is not None:
            entries.by_key[key] = entry
            if entry.expires_at_ms is not None:
                self._expiries.add((entry.expires_at_ms, table.keyspace, key))
        grows_by = size_of(key, entry) - size_of(key, replaced)
        entries.bytes += grows_by
        home_bytes = self._home_bytes.get(table.home, 0) + grows_by
        self.used_bytes += _cost(key, entry) - _cost(key, replaced)
        if not entries.by_key:
            del self._tables[table.keyspace]
        if home_bytes:
            self._home_bytes[table.home] = home_bytes
        else:
            self._home_bytes.pop(table.home, None)


def _cost(key: str, entry: StoredEntry | None) -> int:
    if entry is None:
        return 0
    key_bytes = len(key) if key.isascii() else 4 * len(key)  # as if all characters had the widest encoding
    expiry_bytes = 0 if entry.expires_at_ms is None else EXPIRY_OVERHEAD_BYTES
    return ENTRY_OVERHEAD_BYTES + key_bytes + len(entry.value) + expiry_bytes
