"""The table is made or verified, what is wrong has a name, and mending it is noticed."""

import asyncio
import json

import pytest

from backends.dynamodb import backend
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from gateway.observability.logs import JsonFormatter
from tests.backends.dynamodb.conformance import opened_dynamodb, suited_to_engines
from tests.backends.dynamodb.scripted import TABLE, TTL, WRITES, prepared_endpoint, unprepared_store
from tests.support.dynamodb import DynamoDbLocal, Ministack
from tests.support.dynamodb.answers import GARBAGE, NOT_JSON, PROXY_PAGE, RESET, Answer, answer, refusal
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.stores import first_answer

pytestmark = pytest.mark.virtual_time

PUT = WRITES["put"][1]
KEYS = {"pk": "HASH", "sk": "RANGE"}
ON_T = {"Enabled": True, "AttributeName": "t"}
NO_TTL = "time to live is not enabled on the attribute t"


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A table that cannot be used is looked at all the time."""
    monkeypatch.setattr(backend, "_PREPARE_AGAIN_SECONDS", 0.05)


@pytest.fixture
def credentials(environment):
    with suited_to_engines():
        yield


def make(engine, name: str, keys: dict[str, str] = KEYS, kind: str = "S", ttl: dict | None = ON_T) -> None:
    engine.observer.client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": role} for key, role in keys.items()],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )
    if ttl is not None:
        engine.observer.client.update_time_to_live(TableName=name, TimeToLiveSpecification=ttl)


async def fault_of(store, expected: str = "") -> str:
    """Why the store cannot be used, once that says what is expected."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                await store.ping()
            except BackendError as fault:
                if expected in str(fault) and "being checked" not in str(fault):
                    return str(fault)
            await asyncio.sleep(0.02)


async def works(store, seconds: float = 2.0) -> None:
    async with asyncio.timeout(seconds):
        while True:
            try:
                await store.ping()
                return await PUT(store)
            except BackendError:
                await asyncio.sleep(0.02)


def reasons(caplog) -> list[str]:
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    return [line["reason"] for line in lines if line["logger"] == "kvs.dynamodb"]


async def test_replicas_that_start_together_create_one_table(credentials, engine, table_name, caplog):
    here = (engine.endpoint_url, table_name)
    async with opened_dynamodb(*here) as one, opened_dynamodb(*here) as two, opened_dynamodb(*here):
        await asyncio.gather(PUT(one), PUT(two))
    table = engine.observer.describe_table(table_name)
    assert {each["AttributeName"]: each["KeyType"] for each in table["KeySchema"]} == KEYS
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert engine.observer.describe_time_to_live(table_name)["AttributeName"] == "t"
    assert reasons(caplog) == []


async def test_many_replicas_on_an_empty_account_make_one_table(credentials, engine, table_name, caplog):
    settings = {"table": table_name, "create_table": True}
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(_start_and_use(engine.endpoint_url, settings))
    assert engine.observer.describe_time_to_live(table_name)["AttributeName"] == "t"
    assert reasons(caplog) == []


async def _start_and_use(endpoint_url: str, settings: dict) -> None:
    async with unprepared_store(endpoint_url, **settings) as store:
        await works(store, 10)


async def test_a_table_whose_maker_ended_before_it_was_finished_is_finished(credentials, engine, table_name):
    make(engine, table_name, ttl=None)
    async with opened_dynamodb(engine.endpoint_url, table_name):
        assert engine.observer.describe_time_to_live(table_name)["AttributeName"] == "t"


async def test_a_table_that_holds_something_keeps_its_time_to_live(credentials, engine, table_name):
    """It may be somebody else's."""
    make(engine, table_name, ttl=None)
    item = {"pk": {"S": "somebody"}, "sk": {"S": "else"}, "t": {"N": "1"}}
    engine.observer.client.put_item(TableName=table_name, Item=item)
    async with unprepared_store(engine.endpoint_url, table=table_name, create_table=True) as store:
        assert NO_TTL in await fault_of(store)
        assert engine.observer.scan(table_name) == [item]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"keys": {"pk": "HASH"}}, "its key is not pk (HASH) and sk (RANGE)"),
        ({"keys": {"id": "HASH", "sk": "RANGE"}}, "its key is not pk (HASH) and sk (RANGE)"),
        ({"keys": {"sk": "HASH", "pk": "RANGE"}}, "its key is not pk (HASH) and sk (RANGE)"),
        ({"kind": "B"}, "pk and sk are not strings"),
        ({"ttl": None}, NO_TTL),
        ({"ttl": {"Enabled": True, "AttributeName": "x"}}, NO_TTL),
        ({"keys": {"pk": "HASH"}, "kind": "N", "ttl": None}, f"not strings; {NO_TTL}"),
        (None, "the table does not exist; set create_table: true to create it"),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("engine", [Ministack, DynamoDbLocal], indirect=True)
async def test_a_fault_is_logged_once_and_its_repair_is_noticed(engine, table_name, caplog, made, reason):
    if made is not None:
        make(engine, table_name, **made)
    async with unprepared_store(engine.endpoint_url, table=table_name) as store:
        assert reason in await fault_of(store)
        await asyncio.sleep(0.2)
        logged = reasons(caplog)
        assert len(logged) == 1
        assert reason in logged[0]
        if made is not None:
            engine.observer.client.delete_table(TableName=table_name)
        make(engine, table_name)
        await works(store, PATIENCE_SECONDS)


@pytest.fixture
async def endpoint(environment):
    async with prepared_endpoint() as endpoint:
        yield endpoint


@pytest.mark.parametrize("operation", ["DescribeTable", "DescribeTimeToLive"])
@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (refusal("AccessDeniedException"), BackendMisconfigured),
        (refusal("UnrecognizedClientException"), BackendMisconfigured),
        (refusal("ThrottlingException"), BackendUnavailable),
        (refusal("ExpiredTokenException"), BackendUnavailable),
        (refusal("InternalServerError"), BackendUnavailable),
        (RESET, BackendUnavailable),
        (GARBAGE, BackendUnavailable),
        (NOT_JSON, BackendUnavailable),
        (answer(), BackendUnavailable),
        (Answer(b"[]"), BackendUnavailable),
        (Answer(b"<html>"), BackendUnavailable),
        (PROXY_PAGE, BackendUnavailable),
    ],
    ids=range(12),
)
async def test_a_table_that_cannot_be_looked_at_is_looked_at_again(endpoint, operation, step, kind):
    good = endpoint._defaults[operation]
    endpoint.always(operation, step)
    async with unprepared_store(endpoint.endpoint_url) as store:
        reason = await fault_of(store)
        with pytest.raises(kind):
            await store.ping()
        if kind is BackendMisconfigured:
            assert operation in reason
        endpoint.always(operation, good)
        await works(store)


async def test_a_table_that_is_being_made_is_waited_for(endpoint, caplog):
    making = answer({"Table": {**TABLE, "TableStatus": "CREATING", "ItemCount": 0}})
    endpoint.script("DescribeTable", refusal("ResourceNotFoundException"), making, making)
    endpoint.always("CreateTable", refusal("ResourceInUseException"))
    endpoint.always("DescribeTable", answer({"Table": {**TABLE, "ItemCount": 0}}))
    endpoint.script("DescribeTimeToLive", answer({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}))
    endpoint.always("UpdateTimeToLive", refusal("ValidationException"))
    endpoint.always("DescribeTimeToLive", answer({"TimeToLiveDescription": TTL}))
    async with unprepared_store(endpoint.endpoint_url, create_table=True) as store:
        await works(store, 3)
    assert len(endpoint.of("CreateTable")) == len(endpoint.of("UpdateTimeToLive")) == 1
    assert reasons(caplog) == []


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTimeToLive"])
async def test_a_role_without_the_right_to_create_the_table_is_reported(endpoint, operation):
    endpoint.script("DescribeTable", refusal("ResourceNotFoundException"))
    endpoint.always("DescribeTable", answer({"Table": {**TABLE, "ItemCount": 0}}))
    off = answer({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})
    endpoint.always("DescribeTimeToLive", off)
    endpoint.always("CreateTable", EMPTY_TABLE)
    endpoint.always(operation, refusal("AccessDeniedException"))
    async with unprepared_store(endpoint.endpoint_url, create_table=True) as store:
        reason = await fault_of(store)
    assert reason.startswith(f"DynamoDB refuses {operation}")
    assert reason.endswith("(AccessDeniedException)")


EMPTY_TABLE = answer({"TableDescription": TABLE})


async def test_a_table_that_is_gone_is_noticed_and_made_again(credentials, engine, table_name):
    async with opened_dynamodb(engine.endpoint_url, table_name) as store:
        await asyncio.to_thread(engine.observer.client.delete_table, TableName=table_name)
        with pytest.raises(BackendMisconfigured):
            await store.ping()
        await first_answer(store)
        assert engine.observer.describe_time_to_live(table_name)["AttributeName"] == "t"
