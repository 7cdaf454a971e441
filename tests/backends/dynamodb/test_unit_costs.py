"""Capacity units of puts, gets and deletes: those of the item alone, as version 0.2 wrote it."""

import asyncio
import json

import pytest

from backends.dynamodb.client import Client
from backends.dynamodb.items import entry_key
from backends.interface import Keyspace
from backends.tables import (
    ABSENT,
    PRESENT,
    AddToEntry,
    DeleteEntry,
    EntryOperation,
    GetEntry,
    PutEntry,
    Revisions,
    StoredEntry,
    Table,
)
from tests.backends.dynamodb.conformance import new_table, opened_dynamodb
from tests.support.dynamodb import DynamoDbLocal

TABLE = Table("acme/shop/production", Keyspace("tbl_a"))
NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000

pytestmark = [pytest.mark.test_all, pytest.mark.usefixtures("engine_credentials")]


@pytest.fixture
def units(monkeypatch):
    """The capacity units of all calls so far."""
    consumed = []
    call = Client.call

    async def measured(client, action, request, *rest):
        body = await call(client, action, {**request, "ReturnConsumedCapacity": "TOTAL"}, *rest)
        capacity = json.loads(body).get("ConsumedCapacity", {})
        consumed.append(capacity.get("CapacityUnits"))
        return body

    monkeypatch.setattr(Client, "call", measured)
    return consumed


class Before:
    """Version 0.2: the same calls on items without revision."""

    def __init__(self, engine, table_name: str) -> None:
        self._client, self._name = engine.observer.client, table_name

    def put(self, key: str, value: bytes, expires_at_ms: int | None) -> float:
        item = {**entry_key(TABLE.keyspace, key), "v": {"B": value}}
        if expires_at_ms is not None:
            item |= {"x": {"N": str(expires_at_ms)}, "t": {"N": str(expires_at_ms // 1000)}}
        return self._units(self._client.put_item, Item=item)

    def get(self, key: str) -> float:
        return self._units(self._client.get_item, Key=entry_key(TABLE.keyspace, key), ConsistentRead=True)

    def delete(self, key: str) -> float:
        return self._units(self._client.delete_item, Key=entry_key(TABLE.keyspace, key))

    def _units(self, call, **arguments) -> float:
        output = call(TableName=self._name, ReturnConsumedCapacity="TOTAL", **arguments)
        return output["ConsumedCapacity"]["CapacityUnits"]


@pytest.mark.parametrize("expires_at_ms", [None, NOW_MS + HOUR_MS])
@pytest.mark.parametrize("value_bytes", [1, 500, 900, 1500, 4000, 20_000, 65_536])
async def test_put_get_and_delete_take_no_unit_more(units, value_bytes, expires_at_ms):
    engine, table_name = DynamoDbLocal.shared(), new_table()
    before = Before(engine, table_name)
    value = b"x" * value_bytes
    async with opened_dynamodb(engine.endpoint_url, table_name) as store:

        async def cost_of(operation: EntryOperation) -> float:
            units.clear()
            await store.tables.execute(TABLE, operation, NOW_MS)
            (cost,) = units
            return cost

        entry = StoredEntry(value, expires_at_ms, Revisions().next())
        assert await cost_of(PutEntry("k", entry)) == await asyncio.to_thread(
            before.put, "l", value, expires_at_ms
        )
        assert await cost_of(GetEntry("k")) == await asyncio.to_thread(before.get, "l")
        assert await cost_of(PutEntry("k", entry, PRESENT)) == await asyncio.to_thread(
            before.put, "l", value, expires_at_ms
        )
        assert await cost_of(DeleteEntry("k")) == await asyncio.to_thread(before.delete, "l")
        assert await cost_of(PutEntry("k", entry, ABSENT)) == await asyncio.to_thread(
            before.put, "l", value, expires_at_ms
        )


async def test_an_increment_takes_one_unit(units):
    engine, table_name = DynamoDbLocal.shared(), new_table()
    async with opened_dynamodb(engine.endpoint_url, table_name) as store:
        units.clear()
        for _ in range(3):
            await store.tables.execute(TABLE, AddToEntry("k", 1, None, Revisions().next()), NOW_MS)
    assert units == [1.0, 1.0, 1.0]
