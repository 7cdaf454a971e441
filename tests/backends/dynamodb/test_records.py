"""A record that somebody else wrote hides no other, and a swap can replace or remove it."""

import pytest

from backends.dynamodb.items import record_key
from backends.interface import Record
from backends.paging import all_records
from tests.backends.dynamodb.conformance import opened_dynamodb, suited_to_engines

FOREIGN = [
    {},
    {"d": {"B": b"1"}},
    {"d": {"B": b"1"}, "r": {"N": "1"}},
    {"d": {"B": b"1"}, "r": {"S": ""}},
    {"d": {"S": "1"}, "r": {"S": "version"}},
]


@pytest.fixture(scope="module", autouse=True)
def patient():
    with suited_to_engines():
        yield


@pytest.mark.parametrize("foreign", FOREIGN, ids=str)
async def test_a_foreign_record_hides_no_other_and_can_be_replaced_and_removed(engine, table_name, foreign):
    async with opened_dynamodb(engine.endpoint_url, table_name) as store:

        def write_foreign():
            engine.observer.client.put_item(TableName=table_name, Item={**record_key("n"), **foreign})

        assert await store.records.swap("m", b"1", None)
        write_foreign()
        listed = {name: record async for name, record in all_records(store.records, "")}
        assert listed["m"].document == b"1"
        assert listed["n"] == await store.records.read("n")
        assert not await store.records.swap("n", b"3", "another version")
        assert not await store.records.swap("n", b"3", None)
        assert await store.records.swap("n", b"3", listed["n"].version)
        replaced = await store.records.read("n")
        assert replaced == Record(b"3", replaced.version)
        assert not await store.records.swap("n", b"4", listed["n"].version)
        write_foreign()
        assert await store.records.swap("n", None, listed["n"].version)
        assert await store.records.read("n") is None
