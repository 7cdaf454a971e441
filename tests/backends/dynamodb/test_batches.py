"""Batches on DynamoDB: a call for each operation, in order, and the store may fail at any of them."""

import pytest

from backends.errors import BackendUnavailable, ChargeFailed
from backends.tables import (
    FAILED,
    Budget,
    Charges,
    DeleteEntry,
    Done,
    GetEntry,
    NoEntry,
    PutEntry,
    Removed,
    StoredEntry,
    Written,
)
from tests.backends.dynamodb.scripted import KEY, KEYSPACE, REVISION, store_on
from tests.support.dynamodb.answers import RESET
from tests.support.entries import table_of

pytestmark = pytest.mark.usefixtures("engine_credentials")

TABLE = table_of(KEYSPACE)
CHARGES = Charges((Budget("acme/shop/production", 10),), 60_000, 4)
PUT = PutEntry(KEY, StoredEntry(b"1", None, REVISION))
BATCH = [PUT, GetEntry("none"), DeleteEntry(KEY), PUT]


@pytest.fixture
async def store(endpoint):
    async with store_on(endpoint) as store:
        yield store


async def test_operations_are_called_in_order_after_one_charge(endpoint, store):
    done = await store.charged.step(CHARGES, TABLE, BATCH, 0)
    assert isinstance(done, Done)
    assert done.results == (Written(REVISION), NoEntry(), Removed(), Written(REVISION))
    assert [call.operation for call in endpoint.calls] == [
        "UpdateItem", "PutItem", "GetItem", "DeleteItem", "PutItem",
    ]  # fmt: skip


async def test_a_failure_leaves_the_results_before_it_and_stops_the_operations_behind(endpoint, store):
    endpoint.script("DeleteItem", RESET)
    done = await store.charged.step(CHARGES, TABLE, BATCH, 0)
    assert isinstance(done, Done)
    assert done.results == (Written(REVISION), NoEntry(), FAILED, FAILED)
    assert [call.operation for call in endpoint.calls] == [
        "UpdateItem", "PutItem", "GetItem", "DeleteItem",
    ]  # fmt: skip


async def test_a_failure_at_the_first_operation_is_that_of_the_batch(endpoint, store):
    endpoint.script("PutItem", RESET)
    with pytest.raises(BackendUnavailable):
        await store.charged.step(CHARGES, TABLE, BATCH, 0)
    assert [call.operation for call in endpoint.calls] == ["UpdateItem", "PutItem"]


async def test_a_charge_that_fails_begins_no_operation(endpoint, store):
    endpoint.script("UpdateItem", RESET)
    with pytest.raises(ChargeFailed):
        await store.charged.step(CHARGES, TABLE, BATCH, 0)
    assert [call.operation for call in endpoint.calls] == ["UpdateItem"]
