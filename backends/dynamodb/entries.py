"""Entries in DynamoDB: one item each."""

import asyncio
from typing import Any

from msgspec import Raw, Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action
from backends.dynamodb.items import (
    Binary,
    GetItemOutput,
    Number,
    QueryOutput,
    Text,
    Value,
    collectable_from,
    decode,
    entry_key,
    entry_partitions,
    number,
)
from backends.errors import CorruptEntry
from backends.interface import LATEST_MS, Entry, Keyspace

DELETED_AT_ONCE = 25
"""As many as BatchWriteItem takes."""

_PAUSE_SECONDS = 0.1


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

    async def purge(self, keyspace: Keyspace) -> None:
        for partition in entry_partitions(keyspace):
            request = {
                "TableName": self._table,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": partition},
                "ProjectionExpression": "pk, sk",
                "ConsistentRead": True,
            }
            async for places in self._client.query(request, QueryOutput[_Place]):
                for first in range(0, len(places), DELETED_AT_ONCE):
                    await self._delete_many(places[first : first + DELETED_AT_ONCE])

    async def _delete_many(self, places: list[_Place]) -> None:
        """Repeats what DynamoDB did not process, until nothing is left."""
        left: list[Any] = [{"DeleteRequest": {"Key": place}} for place in places]
        while left:
            output = await self._client.call(Action.DELETE_MANY, {"RequestItems": {self._table: left}})
            left = [item for items in decode(output, _Unprocessed).items.values() for item in items]
            if left:
                await asyncio.sleep(_PAUSE_SECONDS)
