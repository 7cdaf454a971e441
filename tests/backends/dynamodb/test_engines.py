"""The engines do what the adapter and its tests believe of DynamoDB."""

import json
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from botocore.exceptions import ClientError

from tests.support.dynamodb import Trait
from tests.support.dynamodb.observer import ACCESS_KEY_ID, REGION

WRONG = (AssertionError, pytest.fail.Exception)
ODD_SORT_KEYS = {
    "one NUL": "\x00",
    "NUL inside": "a\x00b",
    "no character": "\uffff",
    "emoji": "\U0001f511",
    "the last code point": "\U0010ffff",
    "composed": "\u00e9",
    "decomposed": "e\u0301",
    "line ends": "a\r\n\u2028b",
    "quotes": "\"\\'#:/% +",
    "spaces at the ends": " a ",
    "512 bytes": "\u00e9" * 256,
    "1,024 bytes": "k" * 1024,
}


@pytest.fixture
def unless_known_to_differ(engine, request):
    """Called with a trait that the engine is known to lack, it expects the rest of the test to fail."""

    def expect(trait):
        if reason := engine.differences.get(trait):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True, raises=WRONG))

    return expect


@pytest.fixture
def table(engine, table_name):
    """A table like the adapter's, bound to its name: `table.put_item(Item=...)`."""
    table = Table(engine.observer.client, table_name)
    table.create_table(
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    )
    yield table
    table.delete_table()


class Table:
    def __init__(self, client, name):
        self.client, self.name = client, name

    def __getattr__(self, operation):
        return lambda **arguments: getattr(self.client, operation)(TableName=self.name, **arguments)

    def sort_keys(self, **arguments):
        page = self.query(
            KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "p"}}, **arguments
        )
        return [item["sk"]["S"] for item in page["Items"]]


def key(sort="s"):
    return {"pk": {"S": "p"}, "sk": {"S": sort}}


def deletes(count):
    return [{"DeleteRequest": {"Key": key(str(sort))}} for sort in range(count)]


def number(value):
    return {"N": str(value)}


def refused(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response


def test_a_table_on_demand_is_described_as_made(engine, table):
    described = engine.observer.describe_table(table.name)
    assert described["TableStatus"] == "ACTIVE"
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [(part["AttributeName"], part["KeyType"]) for part in described["KeySchema"]] == [
        ("pk", "HASH"),
        ("sk", "RANGE"),
    ]
    assert (
        refused(
            table.create_table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )["Error"]["Code"]
        == "ResourceInUseException"
    )


def test_a_missing_table_is_named_as_missing(engine):
    for call in (engine.observer.client.get_item, engine.observer.client.delete_item):
        error = refused(call, TableName="kvs-nowhere", Key=key())
        assert error["Error"]["Code"] == "ResourceNotFoundException"


def test_time_to_live_is_set_and_described(engine, table):
    assert engine.observer.describe_time_to_live(table.name) == {"TimeToLiveStatus": "DISABLED"}
    specification = {"Enabled": True, "AttributeName": "t"}
    table.update_time_to_live(TimeToLiveSpecification=specification)
    described = engine.observer.describe_time_to_live(table.name)
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "t"}


def test_time_to_live_cannot_be_enabled_twice(table, unless_known_to_differ):
    unless_known_to_differ(Trait.TTL_ONCE)
    specification = {"Enabled": True, "AttributeName": "t"}
    table.update_time_to_live(TimeToLiveSpecification=specification)
    error = refused(table.update_time_to_live, TimeToLiveSpecification=specification)["Error"]
    assert (error["Code"], error["Message"]) == ("ValidationException", "TimeToLive is already enabled")


def test_an_item_comes_back_as_it_was_put(table):
    every_byte = bytes(range(256))
    item = {**key(), "v": {"B": every_byte}, "x": number(1_766_000_000_123), "empty": {"B": b""}}
    table.put_item(Item=item)
    assert table.get_item(Key=key(), ConsistentRead=True)["Item"] == item
    table.delete_item(Key=key())
    assert "Item" not in table.get_item(Key=key(), ConsistentRead=True)
    table.delete_item(Key=key())


@pytest.mark.parametrize("sort", ODD_SORT_KEYS.values(), ids=ODD_SORT_KEYS)
def test_an_odd_sort_key_is_kept_as_it_is(table, sort):
    table.put_item(Item={**key(sort), "v": {"B": b"odd"}})
    assert table.get_item(Key=key(sort), ConsistentRead=True)["Item"]["v"] == {"B": b"odd"}
    assert table.sort_keys() == [sort]


def test_a_composed_and_a_decomposed_character_are_two_keys(table):
    for sort in ("\u00e9", "e\u0301"):
        table.put_item(Item=key(sort))
    assert len(table.sort_keys()) == 2


def test_sort_keys_are_ordered_by_their_bytes(table):
    sorts = ["a", "B", "\u00e9", "\uffff", "\U0001f511", "aa", "a\x00", "Z"]
    for sort in sorts:
        table.put_item(Item=key(sort))
    assert table.sort_keys() == sorted(sorts, key=str.encode)


def test_a_failed_condition_shows_the_item_that_failed_it(table):
    table.put_item(Item={**key(), "r": {"S": "1"}, "d": {"B": b"\x00"}})
    condition = {
        "ConditionExpression": "r = :expected",
        "ExpressionAttributeValues": {":expected": {"S": "2"}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    update = {"UpdateExpression": "SET n = :expected"}
    for response in (
        refused(table.put_item, Item={**key(), "r": {"S": "3"}}, **condition),
        refused(table.update_item, Key=key(), **update, **condition),
        refused(table.delete_item, Key=key(), **condition),
    ):
        assert response["Error"]["Code"] == "ConditionalCheckFailedException"
        assert response["Item"] == {**key(), "r": {"S": "1"}, "d": {"B": b"\x00"}}


def test_a_condition_on_an_item_that_is_not_there_fails_without_an_item(table):
    condition = {
        "ConditionExpression": "c > :zero",
        "ExpressionAttributeValues": {":zero": number(0)},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    for response in (
        refused(table.update_item, Key=key(), UpdateExpression="SET n = :zero", **condition),
        refused(table.delete_item, Key=key(), **condition),
    ):
        assert response["Error"]["Code"] == "ConditionalCheckFailedException"
        assert "Item" not in response
    assert "Item" not in table.get_item(Key=key(), ConsistentRead=True)


def test_an_item_is_created_once(table):
    table.put_item(Item=key(), ConditionExpression="attribute_not_exists(pk)")
    response = refused(table.put_item, Item=key(), ConditionExpression="attribute_not_exists(pk)")
    assert response["Error"]["Code"] == "ConditionalCheckFailedException"


@pytest.mark.parametrize(
    ("wanted", "returned"),
    [("ALL_NEW", {**key(), "n": number(2), "c": number(9)}), ("UPDATED_NEW", {"n": number(2)})],
)
def test_an_update_returns_the_requested_attributes(table, wanted, returned):
    table.put_item(Item={**key(), "n": number(1), "c": number(9)})
    updated = table.update_item(
        Key=key(),
        UpdateExpression="SET n = n + :one",
        ExpressionAttributeValues={":one": number(1)},
        ReturnValues=wanted,
    )
    assert updated["Attributes"] == returned


def test_pages_follow_each_other_without_gap_or_repetition(table):
    sorts = [f"{prefix}{number:03}" for prefix in "ab" for number in range(40)]
    for sort in sorts:
        table.put_item(Item={**key(sort), "v": {"B": b"v" * 60_000}})
    request = {
        "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
        "ExpressionAttributeValues": {":pk": {"S": "p"}, ":prefix": {"S": "b"}},
        "ProjectionExpression": "sk",
        "ConsistentRead": True,
    }
    found, pages = [], 1
    page = table.query(**request)
    while True:
        assert all(set(item) == {"sk"} for item in page["Items"])
        found += [item["sk"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        page = table.query(**request, ExclusiveStartKey=page["LastEvaluatedKey"])
        pages += 1
    assert found == sorts[40:]
    assert pages == 3  # a page ends after 1 MiB that was read, whatever is projected


def test_the_next_page_begins_after_a_key_that_is_gone(table):
    for sort in "abcdef":
        table.put_item(Item=key(sort))
    assert table.sort_keys(Limit=3) == ["a", "b", "c"]
    for sort in "abc":
        table.delete_item(Key=key(sort))
    assert table.sort_keys(ExclusiveStartKey=key("c")) == ["d", "e", "f"]


def test_a_batch_deletes_25_items(engine, table):
    for sort in range(26):
        table.put_item(Item=key(str(sort)))
    done = engine.observer.client.batch_write_item(RequestItems={table.name: deletes(25)})
    assert done["UnprocessedItems"] == {}
    assert table.sort_keys() == ["25"]


def test_a_batch_of_26_is_refused(engine, table, unless_known_to_differ):
    unless_known_to_differ(Trait.BATCH_LIMIT)
    error = refused(engine.observer.client.batch_write_item, RequestItems={table.name: deletes(26)})
    assert error["Error"]["Code"] == "ValidationException"


def test_an_item_above_the_size_limit_is_refused(table):
    for item in ({**key(), "v": {"B": b"v" * 410_000}}, key("k" * 1025), key("")):
        assert refused(table.put_item, Item=item)["Error"]["Code"] == "ValidationException"


def test_consumed_capacity_matches_the_documents(table, unless_known_to_differ):
    unless_known_to_differ(Trait.CAPACITY)
    item = {**key(), "v": {"B": b"v" * 1500}}
    capacity = {"ReturnConsumedCapacity": "TOTAL"}
    used = [
        table.put_item(Item=item, **capacity),
        table.get_item(Key=key(), ConsistentRead=True, **capacity),
        table.get_item(Key=key(), **capacity),
    ]
    assert [each["ConsumedCapacity"]["CapacityUnits"] for each in used] == [2.0, 1.0, 0.5]


def test_a_conditional_counter_is_exact_under_24_threads(table):
    def charge(_):
        try:
            table.update_item(
                Key=key("w"),
                UpdateExpression="SET n = if_not_exists(n, :zero) + :one",
                ConditionExpression="attribute_not_exists(n) OR n < :limit",
                ExpressionAttributeValues={":zero": number(0), ":one": number(1), ":limit": number(100)},
            )
        except ClientError as error:
            return error.response["Error"]["Code"]
        return "admitted"

    with ThreadPoolExecutor(24) as threads:
        outcomes = Counter(threads.map(charge, range(300)))
    assert outcomes == {"admitted": 100, "ConditionalCheckFailedException": 200}
    assert table.get_item(Key=key("w"), ConsistentRead=True)["Item"]["n"] == number(100)


def test_answers_carry_a_checksum_that_is_right(engine):
    reply = raw(engine, "ListTables", {})
    assert reply.status_code == 200
    assert reply.headers["x-amz-crc32"] == str(zlib.crc32(reply.content))


def test_errors_carry_a_checksum_as_well(engine, unless_known_to_differ):
    unless_known_to_differ(Trait.CHECKSUM_OF_ERRORS)
    reply = raw(engine, "DescribeTable", {"TableName": "kvs-nowhere"})
    assert reply.status_code == 400
    assert reply.headers.get("x-amz-crc32") == str(zlib.crc32(reply.content))


def test_errors_name_their_type_with_its_namespace(engine, unless_known_to_differ):
    unless_known_to_differ(Trait.ERROR_NAMESPACE)
    reply = raw(engine, "DescribeTable", {"TableName": "kvs-nowhere"})
    assert reply.json()["__type"] == "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"


def test_a_connection_carries_more_than_one_call(engine, unless_known_to_differ):
    unless_known_to_differ(Trait.CONNECTIONS_STAY)
    assert raw(engine, "ListTables", {}).headers.get("Connection") != "close"


def raw(engine, operation, payload):
    return requests.post(
        engine.endpoint_url,
        json.dumps(payload),
        headers={
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": (
                f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY_ID}/20260101/{REGION}/dynamodb/aws4_request, "
                "SignedHeaders=host;x-amz-date;x-amz-target, Signature=0"
            ),
        },
        timeout=10,
    )
