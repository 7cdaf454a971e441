"""Stores on an endpoint that gives scripted answers."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from backends import DynamoSettings, open_backend
from backends.clock import Clock, SystemClock
from backends.interface import Backend, Entry, Keyspace
from tests.backends.dynamodb.conformance import on_the_time_of, opened_dynamodb
from tests.support.dynamodb import REGION, ScriptedEndpoint
from tests.support.dynamodb.answers import Answer, answer

TABLE_NAME = "kvs-scripted"
TABLE = {
    "TableName": TABLE_NAME,
    "TableStatus": "ACTIVE",
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
}
TTL = {"TimeToLiveStatus": "ENABLED", "AttributeName": "t"}

KEY, VALUE = "the key", b'"the value"'
KEYSPACE = Keyspace("tbl_a")
NEVER_MS = 99_999_999_999_999
COUNTED = answer({"Attributes": {"n": {"N": "1"}, "c": {"N": str(NEVER_MS)}}})
EMPTY = answer()

Call = Callable[[Backend], Awaitable[object]]


READS: dict[str, tuple[str, Call]] = {
    "get": ("GetItem", lambda store: store.entries.get(KEYSPACE, KEY)),
    "read": ("GetItem", lambda store: store.records.read(KEY)),
    "changes": ("Query", lambda store: store.records.changes(None)),
    "page": ("Query", lambda store: store.records.page("", after="", limit=10)),
    "purge": ("BatchWriteItem", lambda store: store.entries.purge([KEYSPACE], None)),
}
WRITES: dict[str, tuple[str, Call]] = {
    "put": ("PutItem", lambda store: store.entries.put(KEYSPACE, KEY, Entry(VALUE, None))),
    "delete": ("DeleteItem", lambda store: store.entries.delete(KEYSPACE, KEY)),
    "charge": ("UpdateItem", lambda store: store.counters.charge(KEY, 10, 60_000)),
    "swap": ("TransactWriteItems", lambda store: store.records.swap(KEY, VALUE, None)),
    "remove": ("TransactWriteItems", lambda store: store.records.swap(KEY, None, "1")),
}
"""Named calls of each port."""


@asynccontextmanager
async def prepared_endpoint(engine_url: str | None = None, **settings) -> AsyncIterator[ScriptedEndpoint]:
    """It has a table as it should be, and an answer to everything."""
    async with ScriptedEndpoint(engine_url, **settings) as endpoint:
        endpoint.always("DescribeTable", answer({"Table": TABLE}))
        endpoint.always("DescribeTimeToLive", answer({"TimeToLiveDescription": TTL}))
        for operation in ("GetItem", "PutItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"):
            endpoint.always(operation, EMPTY)
        endpoint.always("UpdateItem", COUNTED)
        endpoint.always("Query", page())
        yield endpoint


def page(*keys: str) -> Answer:
    return answer({"Items": [{"pk": {"S": "e"}, "sk": {"S": key}} for key in keys]})


@asynccontextmanager
async def store_on(endpoint: ScriptedEndpoint, clock: Clock | None = None) -> AsyncIterator[Backend]:
    """A store that has found its table; the endpoint's calls begin anew."""
    async with opened_dynamodb(endpoint.endpoint_url, TABLE_NAME, clock, create_table=False) as store:
        endpoint.calls.clear()
        yield store


@asynccontextmanager
async def unprepared_store(
    endpoint_url: str, clock: Clock | None = None, **settings
) -> AsyncIterator[Backend]:
    """A store that may find nothing, or nobody, there."""
    chosen = DynamoSettings(
        **{"table": TABLE_NAME, "region": REGION, "endpoint_url": endpoint_url, **settings}
    )
    with on_the_time_of(clock):
        store = await open_backend(chosen, clock or SystemClock())
    try:
        yield store
    finally:
        await store.close()
