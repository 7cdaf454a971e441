"""Directory records in DynamoDB, spread like entries."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from msgspec import Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action, ConditionFailed
from backends.dynamodb.items import (
    Binary,
    GetItemOutput,
    QueryOutput,
    Text,
    Value,
    decode,
    record_key,
    record_partitions,
)
from backends.interface import Record


class _Record(Struct, frozen=True):
    name: Text = field(name="sk")
    document: Binary = field(name="d")
    version: Text = field(name="r")

    def record(self) -> Record:
        return Record(self.document.value, self.version.value)


class DynamoRecordStore:
    """A `RecordStore`. Versions are random, so a record that was created anew is another one."""

    def __init__(self, client: Client, table: str) -> None:
        self._client = client
        self._table = table

    async def read(self, name: str) -> Record | None:
        request = {"TableName": self._table, "Key": record_key(name), "ConsistentRead": True}
        item = decode(await self._client.call(Action.GET, request), GetItemOutput[_Record]).item
        return None if item is None else item.record()

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        request: dict[str, Any] = {
            "TableName": self._table,
            "ConditionExpression": "attribute_not_exists(pk)" if expected is None else "r = :expected",
        }
        if expected is not None:
            request["ExpressionAttributeValues"] = {":expected": {"S": expected}}
        try:
            if document is None:
                await self._client.call(Action.DELETE, {**request, "Key": record_key(name)})
            else:
                written = {**record_key(name), "d": {"B": document}, "r": {"S": uuid4().hex}}
                await self._client.call(Action.PUT, {**request, "Item": written})
        except ConditionFailed:
            return False
        return True

    async def list(self, prefix: str) -> AsyncIterator[tuple[str, Record]]:
        parts = await asyncio.gather(*(self._list(partition, prefix) for partition in record_partitions()))
        for name, record in sorted((name, record) for part in parts for name, record in part.items()):
            yield name, record

    async def _list(self, partition: Value, prefix: str) -> dict[str, Record]:
        condition, values = "pk = :pk", {":pk": partition}
        if prefix:
            condition += " AND begins_with(sk, :prefix)"
            values[":prefix"] = {"S": prefix}
        request = {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
        }
        pages = self._client.query(request, QueryOutput[_Record])
        return {item.name.value: item.record() async for page in pages for item in page}
