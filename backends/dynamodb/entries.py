"""Entries in DynamoDB: one item each."""

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
"""As many as BatchWriteItem takes."""

PURGED_PER_STEP = 100

_CURSOR = re.compile("partition ([0-9]{1,9})")


class _Entry(Struct, frozen=True):
    value: Binary = field(name="v")
    expires_at_ms: Number | None = field(name="x", default=None)


class _Place(Struct, frozen=True):
    pk: Text
    sk: Text


class _Unprocessed(Struct, frozen=True):
    items: dict[str, list[Raw]] = field(name="UnprocessedItems", default_factory=dict)


class DynamoEntryStore:
    """An `EntryStore`. Its expiry is exactly the one that was put; DynamoDB's own only collects (D103)."""

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
        """One page of one partition. The cursor counts the partitions of all keyspaces, one after another.

        A partition is read from its beginning until nothing is left: that its first items are gone, and
        that others were not processed, needs no notes.
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
        page = decode(await self._client.call(Action.QUERY, request), QueryOutput[_Place])
        places = page.items
        batches = [
            places[first : first + DELETED_AT_ONCE] for first in range(0, len(places), DELETED_AT_ONCE)
        ]
        left = sum([await self._delete_many(batch) for batch in batches])
        has_more = left or (places and bytes(page.last))
        next_at = at if has_more else at + 1
        return PurgeStep(
            f"partition {next_at}" if next_at < partitions else None,
            scanned=len(places),
            deleted=len(places) - left,
            commands=1 + len(places),
        )

    async def _delete_many(self, places: list[_Place]) -> int:
        """How many of them DynamoDB did not process."""
        requests = [{"DeleteRequest": {"Key": place}} for place in places]
        output = await self._client.call(Action.DELETE_MANY, {"RequestItems": {self._table: requests}})
        return sum(map(len, decode(output, _Unprocessed).items.values()))


def _partition_in(cursor: str | None, partitions: int) -> int:
    """The number of a partition that a cursor tells; the first, if it is none of DynamoDB's."""
    match = _CURSOR.fullmatch(cursor or "")
    at = int(match[1]) if match else 0
    return at if at < partitions else 0
