"""Entries in DynamoDB, one item each."""

import re
from collections.abc import Sequence

from msgspec import Raw, Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action
from backends.dynamodb.items import (
    SHARDS,
    Binary,
    GetItemOutput,
    Number,
    QueryOutput,
    Text,
    Value,
    collectable_from,
    decode,
    entry_key,
    entry_partition,
    number,
)
from backends.errors import CorruptEntry
from backends.interface import LATEST_MS, Entry, Keyspace, PurgeStep

DELETED_AT_ONCE = 25
"""Limit of BatchWriteItem."""

PURGED_PER_STEP = 100

_CURSOR = re.compile("partition ([0-9]{1,9})")


class _Entry(Struct, frozen=True):
    value: Binary = field(name="v")
    expires_at_ms: Number | None = field(name="x", default=None)


class _EntryKey(Struct, frozen=True):
    pk: Text
    sk: Text


class _Unprocessed(Struct, frozen=True):
    items: dict[str, list[Raw]] = field(name="UnprocessedItems", default_factory=dict)


class DynamoEntryStore:
    """An `EntryStore`. Attribute `x` is the exact expiry; DynamoDB's time to live may be days late."""

    def __init__(self, client: Client, table: str, *, strong_reads: bool) -> None:
        self._client = client
        self._table = table
        self._strong_reads = strong_reads

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        item: dict[str, Value] = {**entry_key(keyspace, key), "v": {"B": entry.value}}
        if entry.expires_at_ms is not None:
            item["x"] = number(entry.expires_at_ms)
            item["t"] = collectable_from(entry.expires_at_ms)
        await self._client.call(Action.PUT, {"TableName": self._table, "Item": item})

    async def get(self, keyspace: Keyspace, key: str) -> Entry | None:
        request = {
            "TableName": self._table,
            "Key": entry_key(keyspace, key),
            "ConsistentRead": self._strong_reads,
        }
        item = decode(await self._client.call(Action.GET, request), GetItemOutput[_Entry]).item
        if item is None:
            return None
        expires_at_ms = None if item.expires_at_ms is None else int(item.expires_at_ms)
        if expires_at_ms is not None and expires_at_ms > LATEST_MS:
            raise CorruptEntry("an entry in DynamoDB has an impossible expiry")
        return Entry(item.value.value, expires_at_ms)

    async def delete(self, keyspace: Keyspace, key: str) -> None:
        request = {"TableName": self._table, "Key": entry_key(keyspace, key)}
        await self._client.call(Action.DELETE, request)

    async def purge(self, keyspaces: Sequence[Keyspace], cursor: str | None) -> PurgeStep:
        """Deletes one page of one partition. The cursor numbers the partitions of all keyspaces in order.

        A partition is read from its beginning until it is empty, so the cursor need not record which items
        were deleted.
        """
        partitions = len(keyspaces) * SHARDS
        at = _partition_in(cursor, partitions)
        request = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": entry_partition(keyspaces[at // SHARDS], at % SHARDS)},
            "ProjectionExpression": "pk, sk",
            "ConsistentRead": True,
            "Limit": PURGED_PER_STEP,
        }
        page = decode(await self._client.call(Action.QUERY, request), QueryOutput[_EntryKey])
        keys = page.items
        batches = [keys[first : first + DELETED_AT_ONCE] for first in range(0, len(keys), DELETED_AT_ONCE)]
        left = sum([await self._delete_many(batch) for batch in batches])
        has_more = left or (keys and bytes(page.last))
        next_at = at if has_more else at + 1
        return PurgeStep(
            f"partition {next_at}" if next_at < partitions else None,
            scanned=len(keys),
            deleted=len(keys) - left,
            commands=1 + len(keys),
        )

    async def _delete_many(self, keys: list[_EntryKey]) -> int:
        """Deletes a batch and returns the number of keys that DynamoDB did not process."""
        requests = [{"DeleteRequest": {"Key": key}} for key in keys]
        output = await self._client.call(Action.DELETE_MANY, {"RequestItems": {self._table: requests}})
        return sum(map(len, decode(output, _Unprocessed).items.values()))


def _partition_in(cursor: str | None, partitions: int) -> int:
    """Parses the partition number of a cursor; 0 for a cursor that is not DynamoDB's."""
    match = _CURSOR.fullmatch(cursor or "")
    at = int(match[1]) if match else 0
    return at if at < partitions else 0
