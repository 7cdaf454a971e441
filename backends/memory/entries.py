"""Entries in memory: bounded; expired entries are collected a few at a time, and no others are evicted."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from backends.errors import StoreFull
from backends.interface import Entry, Keyspace, PurgeStep

ENTRY_OVERHEAD_BYTES = 250
"""Upper bound on the cost of an entry beside its key and value: objects and a dictionary slot."""

EXPIRY_OVERHEAD_BYTES = 450
"""Upper bound on the extra cost of an expiry: an index entry that is alone in its second."""

COLLECTED_PER_PUT = 4
"""More than one, so collecting outruns filling; few, so no put is slow."""

PURGED_PER_STEP = 500
STALE_SECONDS_KEPT = 1000

_MORE = "more"
"""The only cursor: purged entries are gone, so every step begins at the front."""

EntryKey = tuple[Keyspace, str]


class MemoryEntryStore:
    """An `EntryStore` that holds at most `max_bytes`, by its own estimate per entry."""

    def __init__(self, *, max_bytes: int, now_ms: Callable[[], int]) -> None:
        self._max_bytes = max_bytes
        self._now_ms = now_ms
        self._tables: dict[Keyspace, dict[str, Entry]] = {}
        self._expiries = ExpiryIndex()
        self.used_bytes = 0

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        if self._expiries:
            for entry_key in islice(self._expiries.due(self._now_ms()), COLLECTED_PER_PUT):
                self._drop(*entry_key)
        cost = _cost(key, entry)
        if self.used_bytes + cost > self._max_bytes:
            self._make_room(keyspace, key, cost)
        table = self._tables.get(keyspace)
        if table is None:
            table = self._tables[keyspace] = {}
        replaced = table.get(key)
        if replaced is not None:
            self._release(keyspace, key, replaced)
        table[key] = entry
        self.used_bytes += cost
        if entry.expires_at_ms is not None:
            self._expiries.add((keyspace, key), entry.expires_at_ms)

    async def get(self, keyspace: Keyspace, key: str) -> Entry | None:
        table = self._tables.get(keyspace)
        return None if table is None else table.get(key)

    async def delete(self, keyspace: Keyspace, key: str) -> None:
        self._drop(keyspace, key)

    async def purge(self, keyspaces: Sequence[Keyspace], cursor: str | None) -> PurgeStep:  # noqa: ARG002
        left = ((keyspace, key) for keyspace in keyspaces for key in self._tables.get(keyspace, ()))
        entry_keys = list(islice(left, PURGED_PER_STEP))
        for entry_key in entry_keys:
            self._drop(*entry_key)
        deleted = len(entry_keys)
        return PurgeStep(_MORE if deleted == PURGED_PER_STEP else None, deleted, deleted, 1 + deleted)

    def _make_room(self, keyspace: Keyspace, key: str, cost: int) -> None:
        """Collects expired entries until this one fits in place of its predecessor. Raises StoreFull."""
        due = self._expiries.due(self._now_ms())
        while self.used_bytes + cost - self._cost_of(keyspace, key) > self._max_bytes:
            entry_key = next(due, None)
            if entry_key is None:
                raise StoreFull("the memory store has reached max_bytes")
            self._drop(*entry_key)

    def _cost_of(self, keyspace: Keyspace, key: str) -> int:
        entry = self._tables.get(keyspace, {}).get(key)
        return 0 if entry is None else _cost(key, entry)

    def _drop(self, keyspace: Keyspace, key: str) -> None:
        table = self._tables.get(keyspace)
        entry = None if table is None else table.pop(key, None)
        if table is None or entry is None:
            return
        self._release(keyspace, key, entry)
        if not table:
            del self._tables[keyspace]

    def _release(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        self.used_bytes -= _cost(key, entry)
        if entry.expires_at_ms is not None:
            self._expiries.remove((keyspace, key), entry.expires_at_ms)


def _cost(key: str, entry: Entry) -> int:
    key_bytes = len(key) if key.isascii() else 4 * len(key)  # as if all characters had the widest encoding
    expiry_bytes = 0 if entry.expires_at_ms is None else EXPIRY_OVERHEAD_BYTES
    return ENTRY_OVERHEAD_BYTES + key_bytes + len(entry.value) + expiry_bytes


class ExpiryIndex:
    """Entries by the second in which they expire.

    Adding and removing cost the same however many entries exist. A second that has lost its last entry stays
    in the queue until such seconds outnumber the others.
    """

    def __init__(self) -> None:
        self._keys_by_second: dict[int, set[EntryKey]] = {}
        self._queue: list[int] = []

    def add(self, entry_key: EntryKey, expires_at_ms: int) -> None:
        """Records when an entry expires."""
        second = expires_at_ms // 1000
        keys = self._keys_by_second.get(second)
        if keys is None:
            keys = self._keys_by_second[second] = set()
            heapq.heappush(self._queue, second)
        keys.add(entry_key)

    def remove(self, entry_key: EntryKey, expires_at_ms: int) -> None:
        """Undoes `add` with the same arguments."""
        second = expires_at_ms // 1000
        keys = self._keys_by_second[second]
        keys.remove(entry_key)
        if not keys:
            del self._keys_by_second[second]
            if len(self._queue) > 2 * len(self._keys_by_second) + STALE_SECONDS_KEPT:
                self._queue = sorted(self._keys_by_second)  # a sorted list is a heap

    def __len__(self) -> int:
        """Returns the number of seconds in which entries expire."""
        return len(self._keys_by_second)

    def due(self, now_ms: int) -> Iterator[EntryKey]:
        """Yields the entries whose second is over, oldest first; the caller removes each before the next."""
        while self._queue and (self._queue[0] + 1) * 1000 <= now_ms:
            keys = self._keys_by_second.get(self._queue[0])
            if keys is None:
                heapq.heappop(self._queue)
            else:
                yield next(iter(keys))
