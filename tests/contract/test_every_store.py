"""Operations on tables, with calls that an AWS signer has signed, behave the same on every store."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import cycle
from typing import Any
from uuid import uuid4

import pytest

from backends.clock import SystemClock
from gateway.observability.catalogue import USAGE_REQUESTS
from tests.backends.dynamodb.conformance import suited_to_engines
from tests.support.config import TABLE_TOKEN
from tests.support.dynamodb import REGION, Ministack
from tests.support.gateway import Gateway, Reply, run_gateway
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.scraping import parse

LIMIT_BYTES = 100


@pytest.fixture(scope="module", params=["memory", "redis", "dynamodb"])
def store(request) -> Iterator[dict[str, Any]]:
    """The settings of a store that all tests of this module share."""
    if request.param == "memory":
        yield {"kind": "memory"}
    elif request.param == "redis":
        with deadlines_of(), RedisServer() as server:
            yield {"kind": "redis", "url": server.url}
    else:
        url, table = Ministack.shared().endpoint_url, f"kvs-{uuid4().hex}"
        with suited_to_engines():
            yield {
                "kind": "dynamodb",
                "table": table,
                "region": REGION,
                "endpoint_url": url,
                "create_table": True,
            }


class Caller:
    """Calls the replicas of one app in turn."""

    def __init__(self, replicas: list[Gateway]) -> None:
        self.replicas = replicas
        self._turns = cycle(replicas)

    async def call(self, operation: str, headers: dict[str, str] | None = None, **body: Any) -> Reply:
        return await next(self._turns).call(operation, body, headers=headers)

    async def tag(self, key: str) -> str:
        return (await self.call("get", key=key)).headers["ETag"]

    async def keys(self, **body: Any) -> list[str]:
        """Lists page by page, each page on another replica."""
        keys, cursor = [], None
        while True:
            page = (await self.call("list", cursor=cursor, **body)).json
            keys += [entry["key"] for entry in page["entries"]]
            cursor = page["cursor"]
            if cursor is None:
                return keys


@pytest.fixture
async def caller(store) -> AsyncIterator[Caller]:
    """Two replicas of an app of its own; one on the memory store."""
    app = {
        "org": f"org-{uuid4().hex}",
        "app": "shop",
        "type": "api",
        "max_bytes": LIMIT_BYTES if store["kind"] != "dynamodb" else None,
        "tables": [{"name": "sessions", "token": TABLE_TOKEN}],
    }
    changes = {"store": store, "apps": [app], "rate_limit": {"requests_per_minute": 200}}
    async with AsyncExitStack() as opened:
        replicas = [
            await opened.enter_async_context(run_gateway(changes, clock=SystemClock()))
            for _ in range(1 if store["kind"] == "memory" else 2)
        ]
        for replica in replicas:
            while (await replica.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110 - as a readiness check asks
                await asyncio.sleep(0.01)
        yield Caller(replicas)


async def test_a_put_with_the_tag_of_a_get_succeeds_once(caller):
    first = await caller.call("put", key="k", value=1)
    assert (first.status, first.json) == (200, {"ok": True})
    found = await caller.call("get", key="k")
    assert found.json == {"found": True, "value": 1, "expiresAt": None}
    assert found.headers["ETag"] == first.headers["ETag"]
    second = await caller.call("put", {"If-Match": first.headers["ETag"]}, key="k", value=2)
    assert second.status == 200
    third = await caller.call("put", {"If-Match": first.headers["ETag"]}, key="k", value=3)
    assert (third.status, third.json) == (412, {"error": "precondition_failed"})
    assert third.headers["ETag"] == second.headers["ETag"] == await caller.tag("k")
    assert (await caller.call("get", key="k")).json["value"] == 2


async def test_a_put_if_none_match_creates_and_never_replaces(caller):
    absent = {"If-None-Match": "*"}
    assert (await caller.call("put", absent, key="k", value=1)).status == 200
    refused = await caller.call("put", absent, key="k", value=2)
    assert (refused.status, refused.headers["ETag"]) == (412, await caller.tag("k"))
    assert (await caller.call("delete", {"If-Match": '"another"'}, key="k")).status == 412
    assert (await caller.call("delete", {"If-Match": await caller.tag("k")}, key="k")).json == {
        "deleted": True
    }
    missing = await caller.call("delete", {"If-Match": "*"}, key="k")
    assert (missing.status, "ETag" in missing.headers) == (412, False)
    assert (await caller.call("put", absent, key="k", value=3)).status == 200


async def test_of_racing_writers_with_one_tag_exactly_one_wins(caller):
    tag = {"If-Match": (await caller.call("put", key="k", value=0)).headers["ETag"]}
    rivals = [caller.call("put", tag, key="k", value=number) for number in range(1, 21)]
    statuses = [reply.status for reply in await asyncio.gather(*rivals)]
    assert sorted(statuses) == [200] + [412] * 19
    assert (await caller.call("get", key="k")).json["value"] == statuses.index(200) + 1


async def test_a_list_shows_every_key_once_in_order_on_any_replica(caller):
    keys = ["b", "a", "\u00e9", "b/1", "b/2", "\U0001f600"]
    for key in keys:
        await caller.call("put", key=key, value={"n": 1})
    assert await caller.keys(limit=2) == sorted(keys, key=str.encode)
    assert await caller.keys(limit=1, prefix="b") == ["b", "b/1", "b/2"]
    page = await caller.call("list", prefix="a", values=True)
    assert page.json == {"entries": [{"key": "a", "expiresAt": None, "value": {"n": 1}}], "cursor": None}
    assert "ETag" not in page.headers


async def test_a_cursor_serves_its_own_prefix_alone(caller):
    for key in ("a1", "a2", "b1"):
        await caller.call("put", key=key, value=1)
    cursor = (await caller.call("list", limit=1, prefix="a")).json["cursor"]
    for body in ({"prefix": "b"}, {}, {"prefix": "a", "limit": 0}, {"prefix": 7}):
        refused = await caller.call("list", cursor=cursor, **body)
        code = {0: "invalid_limit"}.get(body.get("limit"), "invalid_cursor")
        assert refused.status == 400
        assert refused.error == ("invalid_prefix" if body.get("prefix") == 7 else code)


async def test_forty_increments_at_once_all_count(caller):
    sums = await asyncio.gather(*(caller.call("increment", key="n") for _ in range(40)))
    assert sorted(each.json["value"] for each in sums) == list(range(1, 41))
    assert len({each.headers["ETag"] for each in sums}) == 40
    assert (await caller.call("increment", key="n", by=-50)).json == {"value": -10, "expiresAt": None}
    assert (await caller.call("get", key="n")).json["value"] == -10


async def test_only_an_integer_in_range_is_added_to(caller):
    for value in (1.5, "1", None, 9_007_199_254_740_991):
        await caller.call("put", key="k", value=value)
        refused = await caller.call("increment", key="k")
        assert (refused.status, refused.error) == (409, "value_not_integer")
        assert (await caller.call("get", key="k")).json["value"] == value


async def test_a_touch_changes_the_expiry_and_the_tag_alone(caller):
    before = (await caller.call("put", key="k", value=[1])).headers["ETag"]
    touched = await caller.call("touch", {"If-Match": before}, key="k", ttlSeconds=3600)
    found = await caller.call("get", key="k")
    assert touched.json == {"found": True, "expiresAt": found.json["expiresAt"]}
    assert found.json["value"] == [1]
    assert touched.headers["ETag"] == found.headers["ETag"] != before
    assert (await caller.call("touch", {"If-Match": before}, key="k", ttlSeconds=None)).status == 412
    assert (await caller.call("touch", key="k", ttlSeconds=None)).json == {"found": True, "expiresAt": None}
    assert (await caller.call("touch", key="x", ttlSeconds=60)).json == {"found": False, "expiresAt": None}


async def test_a_batch_does_each_operation_by_itself_in_order(caller):
    reply = await caller.call(
        "batch",
        operations=[
            {"op": "get", "key": "k"},
            {"op": "put", "key": "k", "value": 1, "ifNoneMatch": "*"},
            {"op": "put", "key": "k", "value": 2, "ifNoneMatch": "*"},
            {"op": "get", "key": "k"},
            {"op": "delete", "key": "k", "ifMatch": '"another"'},
            {"op": "delete", "key": "k"},
        ],
    )
    results = reply.json["results"]
    assert results[0] == {"found": False, "expiresAt": None}
    assert results[1] == {"ok": True, "etag": results[3]["etag"]}
    assert results[3]["value"] == 1
    assert results[2] == results[4] == {"error": "precondition_failed"}
    assert results[5] == {"deleted": True}
    refused = await caller.call("batch", operations=[{"op": "put", "key": "x", "value": 1}, {"op": "get"}])
    assert (refused.status, refused.error) == (400, "invalid_key")
    assert (await caller.call("get", key="x")).json["found"] is False


async def test_a_batch_is_charged_as_its_operations_or_refused_whole(caller):
    operations = [{"op": "get", "key": "k"}] * 25
    replies = [await caller.call("batch", operations=operations) for _ in range(8)]
    assert [reply.status for reply in replies] == [200] * 8
    refused = await caller.call("batch", operations=operations[:1])
    assert (refused.status, refused.error) == (429, "rate_limited")


async def test_the_storage_limit_refuses_what_goes_beyond_it(caller, store):
    if store["kind"] == "dynamodb":
        return
    assert (await caller.call("put", key="a", value="x" * 80)).status == 200
    for _ in caller.replicas:
        refused = await caller.call("put", key="b", value="y" * 40)
        assert (refused.status, refused.error) == (403, "storage_limit_reached")
    refused = await caller.call("increment", key="a-counter-of-many-bytes")
    assert (refused.status, refused.error) == (403, "storage_limit_reached")
    assert (await caller.call("put", key="a", value="z" * 80)).status == 200
    assert (await caller.call("put", {"If-Match": "*"}, key="b", value="y" * 40)).status == 412
    await caller.call("delete", key="a")
    assert (await caller.call("put", key="b", value="y" * 40)).status == 200


async def test_every_operation_is_metered_as_what_it_was(caller):
    await caller.call("put", key="k", value=1)
    await caller.call("put", {"If-None-Match": "*"}, key="k", value=1)
    await caller.call("increment", key="k")
    await caller.call("touch", key="nobody", ttlSeconds=60)
    await caller.call("list")
    await caller.call("batch", operations=[{"op": "get", "key": "k"}, {"op": "delete", "key": "k"}])
    counted: Counter[tuple[str, str]] = Counter()
    for replica in caller.replicas:
        for (name, labels), value in parse((await replica.ask_ops("/metrics/usage")).body).items():
            if name == USAGE_REQUESTS.name and value:
                series = dict(labels)
                counted[series["operation"], series["outcome"]] += int(value)
    assert counted == {
        ("put", "ok"): 1,
        ("put", "precondition_failed"): 1,
        ("increment", "ok"): 1,
        ("touch", "not_found"): 1,
        ("list", "ok"): 1,
        ("get", "ok"): 1,
        ("delete", "ok"): 1,
    }
