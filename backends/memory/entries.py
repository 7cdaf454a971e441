"""Entries in memory: bounded, expired ones collected a few at a time, nothing else evicted."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from backends.errors import StoreFull
from backends.interface import Entry, Keyspace, PurgeStep

ENTRY_OVERHEAD_BYTES = 250
"""What an entry costs beside its key and value, at the most: objects and a dictionary slot."""

EXPIRY_OVERHEAD_BYTES = 450
"""What an expiry costs on top, at the most: a place in the calendar, alone in its second."""

COLLECTED_PER_PUT = 4
"""More than one, so that collecting outruns filling; few, so that no put is slow."""

PURGED_PER_STEP = 500
STALE_SECONDS_KEPT = 1000

_MORE = "more"
"""The only cursor: what is purged is gone, so that every step begins in front."""

Place = tuple[Keyspace, str]


class MemoryEntryStore:
    """An `EntryStore` that never holds more than `max_bytes`, by its own estimate per entry (D85)."""

    def __init__(self, *, max_bytes: int, now_ms: Callable[[], int]) -> None:
        self._max_bytes = max_bytes
        self._now_ms = now_ms
        self._tables: dict[Keyspace, dict[str, Entry]] = {}
        self._calendar = Calendar()
        self.used_bytes = 0

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        if self._calendar:
            for place in islice(self._calendar.due(self._now_ms()), COLLECTED_PER_PUT):
                self._drop(*place)
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
            self._calendar.add((keyspace, key), entry.expires_at_ms)

    async def get(self, keyspace: Keyspace, key: str) -> Entry | None:
        table = self._tables.get(keyspace)
        return None if table is None else table.get(key)

    async def delete(self, keyspace: Keyspace, key: str) -> None:
        self._drop(keyspace, key)

    async def purge(self, keyspaces: Sequence[Keyspace], cursor: str | None) -> PurgeStep:  # noqa: ARG002
        left = ((keyspace, key) for keyspace in keyspaces for key in self._tables.get(keyspace, ()))
        places = list(islice(left, PURGED_PER_STEP))
        for place in places:
            self._drop(*place)
        deleted = len(places)
        return PurgeStep(_MORE if deleted == PURGED_PER_STEP else None, deleted, deleted, 1 + deleted)

    def _make_room(self, keyspace: Keyspace, key: str, cost: int) -> None:
        """Collect expired entries until this one fits, in place of its predecessor. Raises StoreFull."""
        due = self._calendar.due(self._now_ms())
        while self.used_bytes + cost - self._cost_of(keyspace, key) > self._max_bytes:
            place = next(due, None)
            if place is None:
                raise StoreFull("the memory store has reached max_bytes")
            self._drop(*place)

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
            self._calendar.remove((keyspace, key), entry.expires_at_ms)


def _cost(key: str, entry: Entry) -> int:
    key_bytes = len(key) if key.isascii() else 4 * len(key)  # all characters as wide as the widest
    expiry_bytes = 0 if entry.expires_at_ms is None else EXPIRY_OVERHEAD_BYTES
    return ENTRY_OVERHEAD_BYTES + key_bytes + len(entry.value) + expiry_bytes


class Calendar:
    """Places of entries by the second in which they expire (D86).

    Adding and removing cost the same however many entries there are. Seconds
    that lost their last place stay in the queue until they outnumber the live ones.
    """

    def __init__(self) -> None:
        self._places: dict[int, set[Place]] = {}
        self._queue: list[int] = []

    def add(self, place: Place, expires_at_ms: int) -> None:
        """Note when the entry at `place` expires."""
        second = expires_at_ms // 1000
        places = self._places.get(second)
        if places is None:
            places = self._places[second] = set()
            heapq.heappush(self._queue, second)
        places.add(place)

    def remove(self, place: Place, expires_at_ms: int) -> None:
        """Undo `add` with the same arguments."""
        second = expires_at_ms // 1000
        places = self._places[second]
        places.remove(place)
        if not places:
            del self._places[second]
            if len(self._queue) > 2 * len(self._places) + STALE_SECONDS_KEPT:
                self._queue = sorted(self._places)

    def __len__(self) -> int:
        """The number of seconds in which something expires."""
        return len(self._places)

    def due(self, now_ms: int) -> Iterator[Place]:
        """The places whose second is over, oldest first; the caller removes each before the next."""
        while self._queue and (self._queue[0] + 1) * 1000 <= now_ms:
            places = self._places.get(self._queue[0])
            if places is None:
                heapq.heappop(self._queue)
            else:
                yield next(iter(places))
