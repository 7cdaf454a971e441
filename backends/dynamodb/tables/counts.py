"""Counts of what an app environment holds, made by reading all of it: about once an hour, if it has a limit.

An exact count would be a second write with each write. So the storage limit holds as of the last count. A
replica reads it once in `KNOWN_SECONDS` for each app environment that writes: one put in that time waits.
"""

from collections.abc import Callable, Sequence

import msgspec
from cachetools import TTLCache
from msgspec import Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action
from backends.dynamodb.items import (
    SHARDS,
    GetItemOutput,
    Number,
    QueryOutput,
    Text,
    Value,
    collectable_from,
    count_key,
    decode,
    entry_partition,
    number,
)
from backends.dynamodb.tables.items import IS_LIVE
from backends.errors import CorruptEntry
from backends.interface import Keyspace
from backends.tables import Table, TableCount

KNOWN_SECONDS = 300.0
_MOST_HOMES = 10_000
_KEPT_MS = 7 * 24 * 3_600_000
"""Time that DynamoDB keeps a count after it was made: those of removed apps are nobody's to delete."""


class _Count(Struct, frozen=True, array_like=True, gc=False):
    entries: int = 0
    bytes: int = 0


class _HomeCount(Struct, frozen=True):
    """The tables of an app environment as they were counted."""

    counted_at_ms: int | None = None
    by_keyspace: dict[str, _Count] = {}

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.by_keyspace.values())


class _CountItem(Struct, frozen=True):
    document: Text = field(name="d")


class _Blob(Struct, frozen=True):
    """A binary attribute of which only the length is of interest."""

    base64: str = field(name="B")

    def __len__(self) -> int:
        return len(self.base64) * 3 // 4 - self.base64.count("=", -2)


class _Sized(Struct, frozen=True):
    """The parts of an item that are counted."""

    key: Text = field(name="sk")
    value: _Blob | None = field(name="v", default=None)
    integer: Number | None = field(name="i", default=None)

    @property
    def bytes(self) -> int:
        value_bytes = len(self.value) if self.value is not None else 0
        integer_bytes = len(self.integer.digits) if self.integer is not None else 0
        return len(self.key.value.encode()) + value_bytes + integer_bytes


class HomeCounts:
    """The last counts of app environments."""

    def __init__(self, client: Client, name: str, monotonic_ms: Callable[[], int]) -> None:
        self._client = client
        self._name = name
        self._known: TTLCache[str, int] = TTLCache(_MOST_HOMES, KNOWN_SECONDS, lambda: monotonic_ms() / 1000)

    async def free_bytes(self, table: Table) -> int | None:
        """Returns the bytes that the storage limit leaves as of the last count; None without a limit."""
        if table.max_bytes is None:
            return None
        used_bytes = self._known.get(table.home)
        if used_bytes is None:
            used_bytes = (await self._read(table.home)).bytes
            self._known[table.home] = used_bytes
        return table.max_bytes - used_bytes

    async def last_of(self, table: Table) -> TableCount:
        """Returns the last count of a table."""
        home = await self._read(table.home)
        count = home.by_keyspace.get(table.keyspace, _Count())
        counted_at_ms = home.counted_at_ms if table.keyspace in home.by_keyspace else None
        return TableCount(count.entries, count.bytes, counted_at_ms, is_exact=False)

    async def count(self, tables: Sequence[Table], now_ms: int) -> None:
        """Counts the tables of one home, if it has a storage limit."""
        limited = [table for table in tables if table.max_bytes is not None]
        if not limited:
            return
        counts: dict[str, _Count] = {}
        for table in tables:
            counts[table.keyspace] = await self._count_of(table.keyspace, now_ms)
        count = _HomeCount(now_ms, counts)
        item = {
            **count_key(limited[0].home),
            "d": {"S": msgspec.json.encode(count).decode()},
            "t": collectable_from(now_ms + _KEPT_MS),
        }
        await self._client.call(Action.PUT, {"TableName": self._name, "Item": item})
        self._known[limited[0].home] = count.bytes

    async def _read(self, home: str) -> _HomeCount:
        request = {"TableName": self._name, "Key": count_key(home)}
        item = decode(await self._client.call(Action.GET, request), GetItemOutput[_CountItem]).item
        if item is None:
            return _HomeCount()
        try:
            return msgspec.json.decode(item.document.value, type=_HomeCount)
        except (msgspec.MsgspecError, RecursionError):
            raise CorruptEntry("a count in DynamoDB was not written by this gateway") from None

    async def _count_of(self, keyspace: Keyspace, now_ms: int) -> _Count:
        """Counts shard by shard and page by page, at the price of reads that need not be strong."""
        entries = size = 0
        for shard in range(SHARDS):
            after: Value | None = None
            while True:
                page = await self._page(entry_partition(keyspace, shard), after, now_ms)
                entries += len(page.items)
                size += sum(item.bytes for item in page.items)
                if not bytes(page.last):
                    break
                after = decode(page.last, dict[str, Value])
        return _Count(entries, size)

    async def _page(self, partition: Value, after: Value | None, now_ms: int) -> QueryOutput[_Sized]:
        request = {
            "TableName": self._name,
            "KeyConditionExpression": "pk = :pk",
            "FilterExpression": IS_LIVE,
            "ProjectionExpression": "sk, v, i",
            "ExpressionAttributeValues": {":pk": partition, ":now": number(now_ms)},
        }
        if after is not None:
            request["ExclusiveStartKey"] = after
        return decode(await self._client.call(Action.QUERY, request), QueryOutput[_Sized])
