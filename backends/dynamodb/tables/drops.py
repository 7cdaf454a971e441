"""Removal of whole tables."""

import asyncio
from collections.abc import Sequence

from msgspec import Raw, Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action
from backends.dynamodb.items import SHARDS, QueryOutput, Text, Value, decode, entry_partition
from backends.tables import Table

DELETED_AT_ONCE = 25
"""Limit of BatchWriteItem."""

DROPPED_PER_SECOND = 1000
"""Pace of a drop: the write units of one partition, so that the calls of tenants go on beside it."""

_READ_AT_ONCE = 100


class _EntryKey(Struct, frozen=True):
    pk: Text
    sk: Text


class _Unprocessed(Struct, frozen=True):
    items: dict[str, list[Raw]] = field(name="UnprocessedItems", default_factory=dict)


class Drops:
    """Removes the entries of tables, partition by partition.

    A partition is read from its beginning until it is empty, so items that DynamoDB did not process, and a
    drop that is begun again, need no record of what was removed.
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name

    async def drop(self, tables: Sequence[Table]) -> None:
        """Removes all entries of tables."""
        for table in tables:
            for shard in range(SHARDS):
                await self._empty(entry_partition(table.keyspace, shard))

    async def _empty(self, partition: Value) -> None:
        removed = await self._step(partition)
        while removed:
            await asyncio.sleep(removed / DROPPED_PER_SECOND)
            removed = await self._step(partition)

    async def _step(self, partition: Value) -> int:
        """Removes the first entries of a partition, and returns their number; 0 once none can be left."""
        request = {
            "TableName": self._name,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": partition},
            "ProjectionExpression": "pk, sk",
            "ConsistentRead": True,
            "Limit": _READ_AT_ONCE,
        }
        page = decode(await self._client.call(Action.QUERY, request), QueryOutput[_EntryKey])
        keys = page.items
        batches = [keys[first : first + DELETED_AT_ONCE] for first in range(0, len(keys), DELETED_AT_ONCE)]
        left = sum([await self._delete(batch) for batch in batches])
        return len(keys) if left or bytes(page.last) else 0

    async def _delete(self, keys: list[_EntryKey]) -> int:
        """Deletes a batch and returns the number of keys that DynamoDB did not process."""
        requests = [{"DeleteRequest": {"Key": key}} for key in keys]
        output = await self._client.call(Action.DELETE_MANY, {"RequestItems": {self._name: requests}})
        return sum(map(len, decode(output, _Unprocessed).items.values()))
