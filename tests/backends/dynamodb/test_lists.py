"""Pages of tables in DynamoDB: merged from shards, in few rounds, of bounded size."""

import asyncio
from base64 import b64encode
from collections import defaultdict

import pytest

from backends.dynamodb.items import entry_key
from backends.interface import Keyspace
from backends.tables import ListEntries, Page, Revisions, Table
from tests.backends.dynamodb.conformance import opened_dynamodb
from tests.backends.dynamodb.scripted import prepared_endpoint, store_on
from tests.support.dynamodb.answers import Answer, answer

pytestmark = pytest.mark.usefixtures("engine_credentials")

TABLE = Table("acme/shop/production", Keyspace("tbl_a"))
NOW_MS = 1_800_000_000_000
REVISIONS = Revisions()
MIB = 2**20


class Partitions:
    """Answers queries of entries as DynamoDB does, from items in memory."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, dict]] = defaultdict(dict)
        self.read = 0
        """Items that queries have read."""

    def put(self, key: str, value_bytes: int = 1, expires_at_ms: int | None = None) -> None:
        place = entry_key(TABLE.keyspace, key)
        item = {**place, "v": {"B": b64encode(bytes(value_bytes)).decode()}, "r": {"S": REVISIONS.next()}}
        if expires_at_ms is not None:
            item["x"] = {"N": str(expires_at_ms)}
        self.items[place["pk"]["S"]][key] = item

    async def __call__(self, call, _) -> Answer:
        request = call.payload
        values = request["ExpressionAttributeValues"]
        partition = self.items[values[":pk"]["S"]]
        least = values.get(":least", {"S": ""})["S"]
        most = values.get(":most", {"S": "\U0010ffff" * 200})["S"]
        keys = sorted(key for key in partition if least <= key <= most)
        found, scanned, size = [], 0, 0
        for key in keys[: request["Limit"]]:
            item = partition[key]
            scanned += 1
            size += len(item["v"]["B"])
            if "x" not in item or int(item["x"]["N"]) > int(values[":now"]["N"]):
                found.append(item if "ProjectionExpression" not in request else _without_value(item))
            if size >= MIB:
                break
        self.read += scanned
        output = {"Items": found, "ScannedCount": scanned}
        if scanned and (scanned == request["Limit"] or scanned < len(keys)):
            last = partition[keys[scanned - 1]]
            output["LastEvaluatedKey"] = {"pk": last["pk"], "sk": last["sk"]}
        return answer(output)


def _without_value(item: dict) -> dict:
    return {name: value for name, value in item.items() if name in ("sk", "x", "r")}


@pytest.fixture
def partitions() -> Partitions:
    return Partitions()


@pytest.fixture
async def endpoint(partitions):
    async with prepared_endpoint() as endpoint:
        endpoint.always("Query", partitions)
        yield endpoint


@pytest.fixture
async def store(endpoint):
    async with store_on(endpoint) as store:
        yield store


async def page_of(store, limit: int, after: str = "", *, has_values: bool = False) -> Page:
    listing = ListEntries("", after, limit, has_values=has_values, page_bytes=MIB)
    page = await store.tables.execute(TABLE, listing, NOW_MS)
    assert isinstance(page, Page)
    return page


async def keys_of(store, limit: int, *, has_values: bool = False) -> tuple[list[str], int]:
    """Returns all keys, and the number of pages."""
    keys, after, pages = [], "", 0
    while after is not None:
        page = await page_of(store, limit, after, has_values=has_values)
        keys += [key for key, _ in page.entries]
        after, pages = page.after, pages + 1
    return keys, pages


@pytest.mark.parametrize("has_values", [False, True])
@pytest.mark.parametrize("limit", [1, 7, 100, 1000])
async def test_pages_are_full_and_in_order(store, partitions, limit, has_values):
    keys = [f"k{number:04}" for number in range(300)]
    for key in keys:
        partitions.put(key)
    assert await keys_of(store, limit, has_values=has_values) == (keys, -(-300 // limit))


@pytest.mark.parametrize(("limit", "calls"), [(1, 16), (100, 32), (1000, 32)])
async def test_a_page_of_a_large_table_takes_one_round_or_two(store, endpoint, partitions, limit, calls):
    for number in range(5000):
        partitions.put(f"k{number:04}")
    assert len((await page_of(store, limit)).entries) == limit
    assert len(endpoint.of("Query")) <= calls
    assert partitions.read <= 2 * limit + 128


async def test_a_page_with_values_is_read_in_small_parts(store, endpoint, partitions):
    for number in range(400):
        partitions.put(f"k{number:04}", 60_000)
    page = await page_of(store, 1000, has_values=True)
    assert MIB < sum(len(entry.value) for _, entry in page.entries) < MIB + 60_000
    assert partitions.read <= 16 * 4
    partitions.read = 0
    rest = await page_of(store, 1000, page.after, has_values=True)
    assert rest.entries[0][0] == f"k{len(page.entries):04}"


async def test_a_page_with_small_values_takes_few_rounds(store, endpoint, partitions):
    for number in range(1000):
        partitions.put(f"k{number:04}", 100)
    assert len((await page_of(store, 500, has_values=True)).entries) == 500
    assert len(endpoint.of("Query")) <= 48


async def test_values_are_asked_for_only_if_wanted(store, endpoint, partitions):
    partitions.put("k", 300)
    await page_of(store, 10)
    assert {call.payload.get("ProjectionExpression") for call in endpoint.of("Query")} == {"sk, x, r"}
    endpoint.calls.clear()
    await page_of(store, 10, has_values=True)
    assert {call.payload.get("ProjectionExpression") for call in endpoint.of("Query")} == {None}


async def test_a_table_full_of_expired_entries_ends_pages_early_and_loses_nothing(
    store, endpoint, partitions
):
    """DynamoDB may take days to remove them."""
    for number in range(20_000):
        partitions.put(f"k{number:05}", 1, NOW_MS)
    for number in range(0, 20_000, 2_500):
        partitions.put(f"k{number:05}~", 1, NOW_MS + 1)
    keys, pages = await keys_of(store, 10)
    assert keys == [f"k{number:05}~" for number in range(0, 20_000, 2_500)]
    assert pages <= 8
    assert len(endpoint.of("Query")) <= pages * 8 * 16


async def test_one_shard_with_everything_is_listed_in_order(store, partitions):
    places = defaultdict(list)
    for number in range(4000):
        key = f"k{number:05}"
        places[entry_key(TABLE.keyspace, key)["pk"]["S"]].append(key)
    keys = next(iter(places.values()))
    for key in keys:
        partitions.put(key)
    assert (await keys_of(store, 50))[0] == keys
    assert len(keys) > 100


async def test_keys_that_stay_are_listed_once_beside_changes_between_pages(store, partitions):
    stable = [f"s{number:03}" for number in range(100)]
    for key in stable:
        partitions.put(key)
    listed, after, turn = [], "", 0
    while after is not None:
        page = await page_of(store, 7, after)
        listed += [key for key, _ in page.entries]
        after, turn = page.after, turn + 1
        for number in range(turn % 3, 100, 3):
            partitions.put(f"s{number:03}~")
            partitions.items[entry_key(TABLE.keyspace, f"s{(number + turn) % 100:03}~")["pk"]["S"]].pop(
                f"s{(number + turn) % 100:03}~", None
            )
    assert [key for key in listed if not key.endswith("~")] == stable
    assert listed == sorted(set(listed))


async def test_a_list_is_as_strong_as_reads(endpoint, partitions):
    for strong in (True, False):
        async with opened_dynamodb(
            endpoint.endpoint_url, "kvs-scripted", create_table=False, strong_reads=strong
        ) as store:
            endpoint.calls.clear()
            await asyncio.gather(page_of(store, 10), page_of(store, 10))
            assert {call.payload["ConsistentRead"] for call in endpoint.of("Query")} == {strong}
