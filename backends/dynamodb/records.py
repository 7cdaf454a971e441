"""Directory records in DynamoDB, spread over shards like entries."""

import asyncio
from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import Any
from uuid import uuid4

from msgspec import Raw, Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action, ConditionFailed
from backends.dynamodb.feed import DynamoFeed
from backends.dynamodb.items import (
    NOT_DYNAMODB,
    SHARDS,
    Binary,
    GetItemOutput,
    QueryOutput,
    Text,
    Value,
    decode,
    record_key,
    record_partitions,
)
from backends.errors import BackendError, BackendUnavailable, CorruptEntry
from backends.interface import Changes, NamedRecord, Record

_NO_VERSION = ""
"""Version of a foreign item."""

_ATTRIBUTES = "sk, d, r"
"""The only attributes that are read. Foreign ones may be larger than the largest reply that is accepted."""

_OF_THE_ANNOUNCEMENT = {1}
"""Position of the announcement among the writes of the transaction."""

_ATTEMPTS = 40
"""Each attempt skips twice as far ahead, so the writer passes any range of taken numbers."""


class _Record(Struct, frozen=True):
    name: Text = field(name="sk")
    document: Raw = field(name="d", default=Raw(b"null"))
    version: Raw = field(name="r", default=Raw(b"null"))

    def record(self) -> Record:
        """Decodes the record. An attribute of the wrong type counts as empty, which no reader accepts."""
        try:
            version = decode(self.version, Text).value
        except CorruptEntry:
            return Record(b"", _NO_VERSION)
        try:
            return Record(decode(self.document, Binary).value, version)
        except CorruptEntry:
            return Record(b"", version)


def _condition(expected: str | None) -> dict[str, Any]:
    if expected is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    values = {":expected": {"S": expected}}
    if expected != _NO_VERSION:
        return {"ConditionExpression": "r = :expected", "ExpressionAttributeValues": values}
    return {
        "ConditionExpression": "attribute_exists(pk) AND (r = :expected OR NOT attribute_type(r, :text))",
        "ExpressionAttributeValues": {**values, ":text": {"S": "S"}},
    }


class _StartKey(Struct, frozen=True):
    sk: Text


class DynamoRecordStore:
    """A `RecordStore`. Versions are random, so a record that is created again has another version."""

    def __init__(
        self, client: Client, table: str, now_ms: Callable[[], int], monotonic_ms: Callable[[], int]
    ) -> None:
        self._client = client
        self._table = table
        self._feed = DynamoFeed(client, table, now_ms, monotonic_ms)

    async def read(self, name: str) -> Record | None:
        request = {
            "TableName": self._table,
            "Key": record_key(name),
            "ProjectionExpression": _ATTRIBUTES,
            "ConsistentRead": True,
        }
        item = decode(await self._client.call(Action.GET, request), GetItemOutput[_Record]).item
        return None if item is None else item.record()

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        change = self._change(name, document, expected)
        for attempt in range(_ATTEMPTS):
            number = await self._feed.next_number(step=2**attempt)
            writes = [change, {"Put": self._feed.announcement(number, name)}]
            try:
                await self._client.call(Action.TRANSACT, {"TransactItems": writes})
            except ConditionFailed as error:
                if error.positions == _OF_THE_ANNOUNCEMENT:
                    continue
                await self._feed.give_back(number)
                return False
            except BackendError:
                self._feed.give_back_soon(number)
                raise
            return True
        raise BackendUnavailable("no free number in the change feed")

    async def changes(self, position: str | None) -> Changes:
        return await self._feed.changes(position)

    def _change(self, name: str, document: bytes | None, expected: str | None) -> dict[str, Any]:
        request: dict[str, Any] = {"TableName": self._table, **_condition(expected)}
        if document is None:
            return {"Delete": {**request, "Key": record_key(name)}}
        written = {**record_key(name), "d": {"B": document}, "r": {"S": uuid4().hex}}
        return {"Put": {**request, "Item": written}}

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        # Merges 16 sorted shards. A name is final once no shard can return a smaller one, that is, up to the
        # smallest position of all unfinished shards. Only the shard at that position is read again.
        shards = [_ShardReader(partition, after) for partition in record_partitions()]
        behind = shards
        while True:
            await asyncio.gather(*(self._read_on(shard, prefix, limit) for shard in behind))
            unread = [shard for shard in shards if not shard.is_complete]
            known_until = min((shard.position for shard in unread), default=None)
            found = [each for shard in shards for each in shard.found]
            if known_until is not None:
                found = [(name, record) for name, record in found if name <= known_until]
            if known_until is None or len(found) >= limit:
                return sorted(found)[:limit]
            behind = [shard for shard in unread if shard.position == known_until]

    async def _read_on(self, shard: "_ShardReader", prefix: str, limit: int) -> None:
        condition, values = "pk = :pk", {":pk": shard.partition}
        if prefix:
            condition += " AND begins_with(sk, :prefix)"
            values[":prefix"] = {"S": prefix}
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ProjectionExpression": _ATTRIBUTES,
            "ConsistentRead": True,
            "Limit": _share_of(limit),
        }
        if shard.position:
            request["ExclusiveStartKey"] = {"pk": shard.partition, "sk": {"S": shard.position}}
        output = decode(await self._client.call(Action.QUERY, request), QueryOutput[_Record])
        shard.take(output)


class _ShardReader:
    """Records read from one shard, complete up to `position`."""

    def __init__(self, partition: Value, position: str) -> None:
        self.partition = partition
        self.position = position
        self.found: list[NamedRecord] = []
        self.is_complete = False

    def take(self, output: QueryOutput[_Record]) -> None:
        self.found += [(item.name.value, item.record()) for item in output.items]
        if not bytes(output.last):
            self.is_complete = True
            return
        position = decode(output.last, _StartKey).sk.value
        if position <= self.position:  # no progress: the loop would never end
            raise BackendUnavailable(NOT_DYNAMODB)
        self.position = position


def _share_of(limit: int) -> int:
    """Estimates how many of the first `limit` records one shard holds; too low for one page in 1,000.

    A checksum spreads records evenly: the estimate is the mean plus three times its square root.
    """
    mean = limit / SHARDS
    return ceil(mean + 3 * sqrt(mean)) + 1
