"""Stores on an endpoint that gives scripted answers."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from backends import DynamoSettings, open_backend
from backends.backend import Backend
from backends.clock import Clock, SystemClock
from backends.interface import Keyspace
from backends.tables import (
    ABSENT,
    AddToEntry,
    Condition,
    DeleteEntry,
    EntryOperation,
    ListEntries,
    PutEntry,
    Revision,
    StoredEntry,
    TouchEntry,
)
from tests.backends.dynamodb.conformance import on_the_time_of, opened_dynamodb
from tests.support.dynamodb import REGION, ScriptedEndpoint
from tests.support.dynamodb.answers import Answer, answer
from tests.support.entries import Entry, delete, drop, get, put, table_of

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
REVISION = Revision("written-by-this-test--")
COUNTED = answer(
    {
        "Attributes": {
            "n": {"N": "1"},
            "c": {"N": str(NEVER_MS)},
            "i": {"N": "1"},
            "r": {"S": REVISION},
        }
    }
)
"""Output of UpdateItem for a window and for an integer."""

EMPTY = answer()

Call = Callable[[Backend], Awaitable[object]]


def execute(operation: EntryOperation) -> Call:
    """A call that executes an operation of a table."""
    return lambda store: store.tables.execute(table_of(KEYSPACE), operation, 0)


_LIST = ListEntries("", "", 10, has_values=True, page_bytes=1000)
_ENTRY = StoredEntry(VALUE, None, REVISION)
_SAME = Condition(revision=REVISION)

READS: dict[str, tuple[str, Call]] = {
    "get": ("GetItem", lambda store: get(store, KEYSPACE, KEY)),
    "list": ("Query", execute(_LIST)),
    "read": ("GetItem", lambda store: store.records.read(KEY)),
    "changes": ("Query", lambda store: store.records.changes(None)),
    "page": ("Query", lambda store: store.records.page("", after="", limit=10)),
    "drop": ("BatchWriteItem", lambda store: drop(store, KEYSPACE)),
}
SHARDED = ("list", "page")
"""Reads that are a call for each of 16 shards."""

WRITES: dict[str, tuple[str, Call]] = {
    "put": ("PutItem", lambda store: put(store, KEYSPACE, KEY, Entry(VALUE, None))),
    "put if absent": ("PutItem", execute(PutEntry(KEY, _ENTRY, ABSENT))),
    "delete": ("DeleteItem", lambda store: delete(store, KEYSPACE, KEY)),
    "delete the same": ("DeleteItem", execute(DeleteEntry(KEY, _SAME))),
    "touch": ("UpdateItem", execute(TouchEntry(KEY, NEVER_MS, REVISION))),
    "increment": ("UpdateItem", execute(AddToEntry(KEY, 1, None, REVISION))),
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
