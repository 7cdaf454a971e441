"""Directory records in DynamoDB, spread like entries."""

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
"""Of an item that somebody else wrote."""

_OF_THE_ANNOUNCEMENT = {1}
"""The place of its write in the transaction."""

_ATTEMPTS = 40
"""Each goes twice as far ahead, so all numbers that can be taken are passed."""


class _Record(Struct, frozen=True):
    name: Text = field(name="sk")
    document: Raw = field(name="d", default=Raw(b"null"))
    version: Raw = field(name="r", default=Raw(b"null"))

    def record(self) -> Record:
        """What is not of the due type counts as empty: no reader understands that."""
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


class _Place(Struct, frozen=True):
    sk: Text


class DynamoRecordStore:
    """A `RecordStore`. Versions are random, so a record that was created anew is another one."""

    def __init__(self, client: Client, table: str, now_ms: Callable[[], int]) -> None:
        self._client = client
        self._table = table
        self._feed = DynamoFeed(client, table, now_ms)

    async def read(self, name: str) -> Record | None:
        request = {"TableName": self._table, "Key": record_key(name), "ConsistentRead": True}
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
        raise BackendUnavailable("the numbers of the feed are taken")

    async def changes(self, position: str | None) -> Changes:
        return await self._feed.changes(position)

    def _change(self, name: str, document: bytes | None, expected: str | None) -> dict[str, Any]:
        request: dict[str, Any] = {"TableName": self._table, **_condition(expected)}
        if document is None:
            return {"Delete": {**request, "Key": record_key(name)}}
        written = {**record_key(name), "d": {"B": document}, "r": {"S": uuid4().hex}}
        return {"Put": {**request, "Item": written}}

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        parts = [_Part(partition, after) for partition in record_partitions()]
        behind = parts
        while True:
            await asyncio.gather(*(self._read_on(part, prefix, limit) for part in behind))
            unread = [part for part in parts if not part.is_complete]
            known_until = min((part.position for part in unread), default=None)
            found = [each for part in parts for each in part.found]
            if known_until is not None:
                found = [(name, record) for name, record in found if name <= known_until]
            if known_until is None or len(found) >= limit:
                return sorted(found)[:limit]
            behind = [part for part in unread if part.position == known_until]

    async def _read_on(self, part: "_Part", prefix: str, limit: int) -> None:
        condition, values = "pk = :pk", {":pk": part.partition}
        if prefix:
            condition += " AND begins_with(sk, :prefix)"
            values[":prefix"] = {"S": prefix}
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
            "Limit": _share_of(limit),
        }
        if part.position:
            request["ExclusiveStartKey"] = {"pk": part.partition, "sk": {"S": part.position}}
        output = decode(await self._client.call(Action.QUERY, request), QueryOutput[_Record])
        part.take(output)


class _Part:
    """What was read of one partition: all of it up to `position`."""

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
        position = decode(output.last, _Place).sk.value
        if position <= self.position:  # else it would be read for ever
            raise BackendUnavailable(NOT_DYNAMODB)
        self.position = position


def _share_of(limit: int) -> int:
    """How many of the first `limit` records one of the partitions has, but for one page in a thousand.

    A checksum spreads them evenly: this is the mean, and three times its square root.
    """
    mean = limit / SHARDS
    return ceil(mean + 3 * sqrt(mean)) + 1
