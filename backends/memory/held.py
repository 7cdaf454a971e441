"""The entries of one table in memory, in the order of their keys, and their estimated cost."""

from collections.abc import Iterator

from sortedcontainers import SortedList

from backends.effects import is_live, size_of
from backends.interface import Keyspace
from backends.tables import ListEntries, Page, StoredEntry

ENTRY_OVERHEAD_BYTES = 400
"""Upper bound on the cost of an entry beside its key and value: objects, dictionary slot, place in order."""

EXPIRY_OVERHEAD_BYTES = 600
"""Upper bound on the extra cost of an expiry: an index entry that is alone in its span."""

_MOST_EXPIRED = 1000
"""Expired entries that a page passes over before it ends: it holds the event loop for a millisecond."""


class HeldTable:
    """Entries by key, and the sum of their sizes."""

    __slots__ = ("_keys", "by_key", "bytes", "home", "keyspace")

    def __init__(self, home: str, keyspace: Keyspace) -> None:
        self.home = home
        self.keyspace = keyspace
        self.by_key: dict[str, StoredEntry] = {}
        self._keys: SortedList[str] = SortedList()
        self.bytes = 0

    def put(self, key: str, entry: StoredEntry, replaced: StoredEntry | None) -> None:
        """Puts an entry in place of the present one, which the caller has looked up."""
        if replaced is None:
            self._keys.add(key)
            self.bytes += size_of(key, entry)
        else:
            self.bytes += len(entry.value) - len(replaced.value)
        self.by_key[key] = entry

    def pop(self, key: str) -> StoredEntry:
        """Removes an entry."""
        self._keys.remove(key)
        entry = self.by_key.pop(key)
        self.bytes -= size_of(key, entry)
        return entry

    def last_key(self) -> str:
        """Returns the last key: the one that is removed at the least cost."""
        key: str = self._keys[-1]
        return key

    def page(self, listing: ListEntries, now_ms: int) -> Page:
        """Returns a page of live entries."""
        found: list[tuple[str, StoredEntry]] = []
        page_bytes = expired = 0
        for key in self._keys_of(listing):
            if not key.startswith(listing.prefix):
                break
            entry = self.by_key[key]
            if not is_live(entry, now_ms):
                expired += 1
                if expired == _MOST_EXPIRED:
                    return Page(tuple(found), key)
                continue
            if len(found) == listing.limit or page_bytes >= listing.page_bytes:
                return Page(tuple(found), found[-1][0])
            shown = entry if listing.has_values else StoredEntry(b"", entry.expires_at_ms, entry.revision)
            found.append((key, shown))
            page_bytes += size_of(key, shown)
        return Page(tuple(found), None)

    def _keys_of(self, listing: ListEntries) -> Iterator[str]:
        if listing.after and listing.after >= listing.prefix:
            return self._keys.irange(listing.after, inclusive=(False, True))
        return self._keys.irange(listing.prefix)


def cost_of(key: str, entry: StoredEntry | None) -> int:
    """Returns an upper bound on the memory that an entry takes."""
    if entry is None:
        return 0
    key_bytes = len(key) if key.isascii() else 4 * len(key)  # as if all characters had the widest encoding
    expiry_bytes = 0 if entry.expires_at_ms is None else EXPIRY_OVERHEAD_BYTES
    return ENTRY_OVERHEAD_BYTES + key_bytes + len(entry.value) + expiry_bytes


def growth_of(key: str, entry: StoredEntry, replaced: StoredEntry | None) -> int:
    """Returns the difference between the costs of an entry and of its predecessor."""
    if replaced is None:
        return cost_of(key, entry)
    expiries = (entry.expires_at_ms is not None) - (replaced.expires_at_ms is not None)
    return len(entry.value) - len(replaced.value) + expiries * EXPIRY_OVERHEAD_BYTES
