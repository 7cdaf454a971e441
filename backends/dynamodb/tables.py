"""Tables in DynamoDB: each operation on a key is one conditional call.

Attributes of an entry: v value, or i the integer that an increment made; x expires at (ms); r revision. Items
of version 0.2 have no r; theirs is a digest of value and expiry, and writes guarded by it compare both.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action, ConditionFailed
from backends.dynamodb.items import (
    SHARDS,
    Binary,
    GetItemOutput,
    Number,
    QueryOutput,
    Text,
    UpdateItemOutput,
    Value,
    collectable_from,
    decode,
    entry_key,
    entry_partition,
    number,
)
from backends.effects import effect_of, holds, integer_of, is_live, size_of
from backends.errors import BackendUnavailable, CorruptEntry
from backends.interface import LATEST_MS
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
    NotInteger,
    Page,
    PutEntry,
    Removed,
    Revision,
    StoredEntry,
    Sum,
    Table,
    TableCount,
    TouchEntry,
    Unmet,
    UpgradeStep,
    Written,
)

_MOST_RACES = 50
"""Attempts to write an entry that others keep changing. Each round one of them wins."""

_LAST = "\U0010ffff"
_KEY_BYTES = 512
_IS_LIVE = "(attribute_not_exists(x) OR x > :now)"
_IS_MISSING = "(attribute_not_exists(pk) OR x <= :now)"


class _Item(Struct, frozen=True):
    key: Text = field(name="sk", default=Text(""))
    value: Binary | None = field(name="v", default=None)
    integer: Number | None = field(name="i", default=None)
    expires_at_ms: Number | None = field(name="x", default=None)
    revision: Text | None = field(name="r", default=None)

    def entry(self) -> StoredEntry:
        """Returns the stored entry. Raises CorruptEntry."""
        expires_at_ms = None if self.expires_at_ms is None else int(self.expires_at_ms)
        if expires_at_ms is not None and expires_at_ms > LATEST_MS:
            raise CorruptEntry("an entry in DynamoDB has an impossible expiry")
        if self.integer is not None:
            value = b"%d" % int(self.integer)
        elif self.value is not None:
            value = self.value.value
        else:
            raise CorruptEntry("an entry in DynamoDB has no value")
        revision = self.revision.value if self.revision else _digest(value, expires_at_ms)
        return StoredEntry(value, expires_at_ms, Revision(revision))


class DynamoTables:
    """A `TableStore`."""

    def __init__(self, client: Client, table: str, *, strong_reads: bool) -> None:
        self._client = client
        self._table = table
        self._strong_reads = strong_reads

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        match operation:
            case GetEntry():
                item = await self._read(table, operation.key, is_strong=self._strong_reads)
                entry = None if item is None else item.entry()
                return entry if entry is not None and is_live(entry, now_ms) else NoEntry()
            case PutEntry():
                return await self._put(table, operation, now_ms)
            case DeleteEntry():
                return await self._delete(table, operation, now_ms)
            case TouchEntry():
                return await self._touch(table, operation, now_ms)
            case AddToEntry():
                return await self._add(table, operation, now_ms)
            case ListEntries():
                return await self._page(table, operation, now_ms)

    async def count(self, table: Table, now_ms: int) -> TableCount:
        entries = size = 0
        after: str | None = ""
        while after is not None:
            page = await self._page(
                table, ListEntries("", after, 1000, has_values=True, page_bytes=2**20), now_ms
            )
            entries += len(page.entries)
            size += sum(size_of(key, entry) for key, entry in page.entries)
            after = page.after
        return TableCount(entries, size, now_ms, is_exact=False)

    async def drop(self, tables: Sequence[Table]) -> None:
        for table in tables:
            await self._drop(table)

    async def _drop(self, table: Table) -> None:
        """Removes all entries of a table."""
        page = await self._page(table, ListEntries("", "", 1000, has_values=False, page_bytes=2**20), 0)
        for key, _ in page.entries:
            await self._client.call(Action.DELETE, self._at(table, key))
        if page.after is not None:
            await self._drop(table)

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        """DynamoDB removes expired items itself."""

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep:  # noqa: ARG002
        """Items of all versions have one layout."""
        return UpgradeStep(None)

    # ---- Single entries

    async def _read(self, table: Table, key: str, *, is_strong: bool) -> _Item | None:
        request = {**self._at(table, key), "ConsistentRead": is_strong}
        return decode(await self._client.call(Action.GET, request), GetItemOutput[_Item]).item

    async def _put(self, table: Table, put: PutEntry, now_ms: int) -> EntryResult:
        request = {"TableName": self._table, "Item": self._item_of(table, put.key, put.entry)}
        unmet = await self._guarded(Action.PUT, request, table, put.key, put.condition, now_ms)
        return unmet or Written(put.entry.revision)

    async def _delete(self, table: Table, delete: DeleteEntry, now_ms: int) -> EntryResult:
        request = self._at(table, delete.key)
        unmet = await self._guarded(Action.DELETE, request, table, delete.key, delete.condition, now_ms)
        return unmet or Removed()

    async def _touch(self, table: Table, touch: TouchEntry, now_ms: int) -> EntryResult:
        values: dict[str, Value] = {":r": {"S": touch.revision}}
        expression = "SET r = :r REMOVE x, t"
        if touch.expires_at_ms is not None:
            expression = "SET r = :r, x = :x, t = :t"
            values |= {":x": number(touch.expires_at_ms), ":t": collectable_from(touch.expires_at_ms)}
        request = {
            **self._at(table, touch.key),
            "UpdateExpression": expression,
            "ExpressionAttributeValues": values,
        }
        condition = touch.condition
        if condition.exists is None and condition.revision is None:
            condition = Condition(exists=True)
            unmet = await self._guarded(Action.UPDATE, request, table, touch.key, condition, now_ms)
            return NoEntry() if unmet else Written(touch.revision)
        unmet = await self._guarded(Action.UPDATE, request, table, touch.key, condition, now_ms)
        return unmet or Written(touch.revision)

    async def _guarded(  # noqa: PLR0917
        self,
        action: Action,
        request: dict[str, Any],
        table: Table,
        key: str,
        condition: Condition,
        now_ms: int,
    ) -> Unmet | None:
        """Makes a write if its condition holds; returns why not. The refused call shows the current entry."""
        if condition.exists is None and condition.revision is None:
            await self._client.call(action, request)
            return None
        values = dict(request.get("ExpressionAttributeValues", {}))
        expression = await self._expression(table, key, condition, values, now_ms)
        if expression is None:
            item = await self._read(table, key, is_strong=True)
            return Unmet(_live_revision(item, now_ms))
        try:
            await self._client.call(
                action,
                {
                    **request,
                    "ConditionExpression": expression,
                    "ExpressionAttributeValues": values,
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                },
            )
        except ConditionFailed as failed:
            item = None if failed.item is None else decode(failed.item, _Item)
            return Unmet(_live_revision(item, now_ms))
        return None

    async def _expression(
        self, table: Table, key: str, condition: Condition, values: dict[str, Value], now_ms: int
    ) -> str | None:
        """Returns the condition in DynamoDB's words; None if it cannot hold."""
        values[":now"] = number(now_ms)
        if condition.revision is None:
            return f"attribute_exists(pk) AND {_IS_LIVE}" if condition.exists else _IS_MISSING
        if not condition.revision.startswith(_OF_OLD):
            values[":expected"] = {"S": condition.revision}
            return f"r = :expected AND {_IS_LIVE}"
        item = await self._read(table, key, is_strong=True)
        if item is None or item.revision is not None or not holds(condition, item.entry()):
            return None
        return _unchanged(item, values) + f" AND {_IS_LIVE}"

    async def _add(self, table: Table, add: AddToEntry, now_ms: int) -> EntryResult:
        """Adds in one call to an integer that an increment made; makes one of any other integer first."""
        for _ in range(_MOST_RACES):
            result, item = await self._add_to_integer(table, add, now_ms)
            if result is not None:
                return result
            stored = None if item is None else item.entry()
            live = stored if is_live(stored, now_ms) else None
            effect = effect_of(add, live)
            if not isinstance(effect.result, Sum) or effect.entry is None:
                return effect.result
            values: dict[str, Value] = {":now": number(now_ms)}
            condition = _IS_MISSING if live is None or item is None else _unchanged(item, values)
            if live is not None:
                del values[":now"]
            request = {
                "TableName": self._table,
                "Item": self._item_of(table, add.key, effect.entry, integer_of(effect.entry.value)),
                "ConditionExpression": condition,
            }
            if values:
                request["ExpressionAttributeValues"] = values
            try:
                await self._client.call(Action.PUT, request)
            except ConditionFailed:
                continue
            return effect.result
        raise BackendUnavailable("the entry keeps changing")

    async def _add_to_integer(
        self, table: Table, add: AddToEntry, now_ms: int
    ) -> tuple[EntryResult | None, _Item | None]:
        """Returns the sum, or the current item if it is not an integer of ours in range."""
        request = {
            **self._at(table, add.key),
            "UpdateExpression": "SET i = i + :by, r = :r",
            "ConditionExpression": f"i BETWEEN :least AND :most AND {_IS_LIVE}",
            "ExpressionAttributeValues": {
                ":by": number(add.by),
                ":r": {"S": add.revision},
                ":now": number(now_ms),
                ":least": number(max(-LARGEST_INTEGER, -LARGEST_INTEGER - add.by)),
                ":most": number(min(LARGEST_INTEGER, LARGEST_INTEGER - add.by)),
            },
            "ReturnValues": "ALL_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        try:
            output = await self._client.call(Action.UPDATE, request)
        except ConditionFailed as failed:
            item = None if failed.item is None else decode(failed.item, _Item)
            stored = None if item is None else item.entry()
            if item is not None and item.integer is not None and is_live(stored, now_ms):
                return NotInteger(), item
            return None, item
        entry = decode(output, UpdateItemOutput[_Item]).attributes.entry()
        return Sum(int(entry.value), entry.expires_at_ms, entry.revision), None

    # ---- Lists

    async def _page(self, table: Table, listing: ListEntries, now_ms: int) -> Page:
        """Asks all shards at once. What lies behind the end of a shard's page is left to the next page."""
        shards = await asyncio.gather(
            *(self._shard_page(table, shard, listing, listing.limit + 1) for shard in range(SHARDS))
        )
        ends = [items[-1].key.value for items, has_more in shards if has_more]
        frontier = min(ends, default=None)
        items = sorted(
            (item for found, _ in shards for item in found if frontier is None or item.key.value <= frontier),
            key=lambda item: item.key.value,
        )
        entries: list[tuple[str, StoredEntry]] = []
        page_bytes = 0
        for item in items:
            entry = item.entry()
            if not is_live(entry, now_ms):
                continue
            if len(entries) == listing.limit or page_bytes >= listing.page_bytes:
                return Page(tuple(entries), entries[-1][0])
            key = item.key.value
            shown = entry if listing.has_values else StoredEntry(b"", entry.expires_at_ms, entry.revision)
            entries.append((key, shown))
            page_bytes += size_of(key, shown)
        return Page(tuple(entries), frontier)

    async def _shard_page(
        self, table: Table, shard: int, listing: ListEntries, limit: int
    ) -> tuple[list[_Item], bool]:
        """Returns the first items of a shard, and whether there are more."""
        values: dict[str, Value] = {":pk": entry_partition(table.keyspace, shard)}
        condition = "pk = :pk"
        least = max(listing.prefix, listing.after + "\x00" if listing.after else "")
        if listing.prefix:
            most = listing.prefix + _LAST * ((_KEY_BYTES - len(listing.prefix.encode())) // 4 + 1)
            if least > most:
                return [], False
            condition += " AND sk BETWEEN :least AND :most"
            values |= {":least": {"S": least}, ":most": {"S": most}}
        elif least:
            condition += " AND sk >= :least"
            values[":least"] = {"S": least}
        request = {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
            "Limit": limit,
        }
        page = decode(await self._client.call(Action.QUERY, request), QueryOutput[_Item])
        return page.items, bool(bytes(page.last))

    # ---- Items

    def _at(self, table: Table, key: str) -> dict[str, Any]:
        return {"TableName": self._table, "Key": entry_key(table.keyspace, key)}

    def _item_of(
        self, table: Table, key: str, entry: StoredEntry, integer: int | None = None
    ) -> dict[str, Value]:
        item: dict[str, Value] = {**entry_key(table.keyspace, key), "r": {"S": entry.revision}}
        if integer is None:
            item["v"] = {"B": entry.value}
        else:
            item["i"] = number(integer)
        if entry.expires_at_ms is not None:
            item["x"] = number(entry.expires_at_ms)
            item["t"] = collectable_from(entry.expires_at_ms)
        return item


_OF_OLD = "0."


def _digest(value: bytes, expires_at_ms: int | None) -> str:
    """Returns the revision of an entry of version 0.2."""
    return _OF_OLD + sha256(b"%d %b" % (expires_at_ms or 0, value)).hexdigest()[:20]


def _unchanged(item: _Item, values: dict[str, Value]) -> str:
    """Returns a condition that holds only while the item is the one that was read."""
    if item.revision is not None:
        values[":was"] = {"S": item.revision.value}
        return "r = :was"
    condition = "attribute_not_exists(r) AND v = :value"
    values[":value"] = {"B": item.value.value if item.value else b""}
    if item.expires_at_ms is None:
        return condition + " AND attribute_not_exists(x)"
    values[":expiry"] = number(int(item.expires_at_ms))
    return condition + " AND x = :expiry"


def _live_revision(item: _Item | None, now_ms: int) -> Revision | None:
    entry = None if item is None else item.entry()
    return entry.revision if entry is not None and is_live(entry, now_ms) else None
