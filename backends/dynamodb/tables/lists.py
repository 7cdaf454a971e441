"""Pages of entries in the order of their keys, merged from all shards of a table at once."""

import asyncio
from collections.abc import Sequence
from math import isqrt

from backends.dynamodb.client import Client
from backends.dynamodb.items import SHARDS
from backends.dynamodb.tables.shards import Reading, Shard
from backends.effects import size_of
from backends.tables import ListEntries, Page, StoredEntry, Table

_MOST_ROUNDS = 8
_FIRST_VALUES = 4
"""Entries with values that a shard is asked for before their size is known: 4 MiB if all are the largest."""


async def page_of(
    client: Client, request: dict[str, object], table: Table, listing: ListEntries, now_ms: int
) -> Page:
    """Reads a page in rounds of one call per shard: one, and seldom another, without values; two with them.

    Memory is bounded: without values by the limit; with values by 1 MiB for each shard, which is the most
    that DynamoDB answers at once. A table full of expired entries ends the page before its limit.
    """
    reading = Reading.of(client, request, listing, now_ms)
    shards = [Shard(table, number) for number in range(SHARDS)]
    merge = Merge(listing)
    if reading.keys.is_empty:
        return merge.page
    wanted = _share(listing.limit + 1)
    if listing.has_values:
        wanted = min(wanted, _FIRST_VALUES)
    for _ in range(_MOST_ROUNDS):
        await asyncio.gather(*(each.fill(reading, wanted) for each in shards))
        taken = len(merge.entries)
        if merge.take_from(shards):
            break
        wanted = _share(merge.missing) if len(merge.entries) > taken else 2 * wanted
    return merge.page


class Merge:
    """The entries of a page so far.

    Invariant: every key up to the frontier, the least of the keys to which shards were read, was read. So
    entries up to it are taken in order, and a page that ends there misses none.
    """

    def __init__(self, listing: ListEntries) -> None:
        self._listing = listing
        self._bytes = 0
        self._after: str | None = None
        self.entries: list[tuple[str, StoredEntry]] = []

    @property
    def page(self) -> Page:
        """The entries as a page, which ends at the frontier."""
        return Page(tuple(self.entries), self._after)

    @property
    def missing(self) -> int:
        """The number of entries that the page can still take, judged by the mean size of those it has."""
        by_limit = self._listing.limit - len(self.entries)
        room = max(self._listing.page_bytes - self._bytes, 0)
        return min(by_limit, room * len(self.entries) // max(self._bytes, 1)) + 1

    def take_from(self, shards: Sequence[Shard]) -> bool:
        """Takes entries up to the frontier; returns whether the page has ended."""
        frontier = min((each.read_to for each in shards if each.has_more), default=None)
        while True:
            heads = [(head, shard) for shard in shards if (head := shard.head) is not None]
            head, shard = min(heads, key=lambda each: each[0], default=("", None))
            if shard is None or (frontier is not None and head > frontier):
                self._after = frontier
                if self.entries and self._is_full and frontier is not None:
                    self._after = self.entries[-1][0]
                return frontier is None
            if self._is_full:
                self._after = self.entries[-1][0]
                return True
            self._take(head, shard)

    @property
    def _is_full(self) -> bool:
        return len(self.entries) == self._listing.limit or self._bytes >= self._listing.page_bytes

    def _take(self, key: str, shard: Shard) -> None:
        item = shard.take()
        entry = item.entry() if self._listing.has_values else item.entry_without_value()
        self.entries.append((key, entry))
        self._bytes += size_of(key, entry)


def _share(entries: int) -> int:
    """Returns the entries to read of each shard, so that one round suffices although shards differ."""
    mean = -(-entries // SHARDS)
    return mean + 2 * isqrt(mean) + 1
