"""A batch is charged and metered as its operations; a malformed one as one request."""

import pytest

from tests.contract.test_rate_limit import with_limit
from tests.support.gateway import run_gateway
from tests.support.scraping import REQUEST_BYTES, REQUESTS, RESPONSE_BYTES, scrape, series, total

PUT = {"op": "put", "key": "k", "value": 1}
GET = {"op": "get", "key": "k"}
MISSING = {"op": "get", "key": "none"}
DELETE = {"op": "delete", "key": "k"}
UNMET = {"op": "put", "key": "k", "value": 2, "ifNoneMatch": "*"}


async def outcomes(gateway) -> dict[tuple[str, str], float]:
    """Counts requests by operation and outcome."""
    samples = await scrape(gateway)
    counted = ((dict(labels), value) for (name, labels), value in samples.items() if name == REQUESTS)
    return {(each["operation"], each["outcome"]): value for each, value in counted}


async def test_each_operation_counts_with_its_outcome(gateway):
    await gateway.call("batch", {"operations": [PUT, GET, MISSING, UNMET, DELETE]})
    assert await outcomes(gateway) == {
        ("put", "ok"): 1,
        ("put", "precondition_failed"): 1,
        ("get", "ok"): 1,
        ("get", "not_found"): 1,
        ("delete", "ok"): 1,
    }


@pytest.mark.parametrize("operations", [[GET], [PUT, GET, GET], [GET] * 7, [PUT, DELETE] * 12 + [GET]])
async def test_the_bytes_of_a_batch_are_those_of_its_bodies(gateway, operations):
    reply = await gateway.call("batch", {"operations": operations})
    samples = await scrape(gateway)
    assert total(samples, RESPONSE_BYTES) == len(reply.body)
    assert total(samples, REQUESTS) == len(operations)
    shares = series(samples, [REQUEST_BYTES])
    assert sum(shares) == total(samples, REQUEST_BYTES) > 0


async def test_in_the_metrics_of_the_service_it_is_one_request_of_its_own_kind(gateway):
    await gateway.call("batch", {"operations": [PUT, GET]})
    samples = await scrape(gateway)
    assert total(samples, "kvs_http_requests_total", operation="batch", status="200") == 1
    assert total(samples, "kvs_http_requests_total") == 1
    assert total(samples, "kvs_store_duration_seconds_count", operation="batch") == 1


@pytest.mark.parametrize("body", [{}, {"operations": []}, {"operations": [PUT, {**GET, "key": ""}]}, b"{"])
async def test_a_malformed_one_counts_once_as_batch(gateway, body):
    reply = await gateway.call("batch", body)
    assert reply.status == 400
    assert await outcomes(gateway) == {("batch", "invalid"): 1}
    assert total(await scrape(gateway), "kvs_store_duration_seconds_count", operation="charge") == 1


@pytest.mark.parametrize("spent", [0, 2], ids=["by the store", "by a remembered verdict"])
async def test_one_that_is_refused_whole_counts_as_its_operations(spent):
    async with run_gateway(with_limit(1 if spent else 2)) as gateway:
        for _ in range(spent):
            await gateway.get("k")
        reply = await gateway.call("batch", {"operations": [PUT, GET, GET]})
        assert (reply.status, reply.error) == (429, "rate_limited")
        counted = await outcomes(gateway)
    assert counted["put", "rate_limited"] == 1
    assert counted["get", "rate_limited"] == 2 + (spent > 0)
    assert "batch" not in {operation for operation, _ in counted}


@pytest.mark.parametrize("fault", ["charge", "put"])
async def test_one_that_fails_counts_each_operation_as_an_error(gateway, fault):
    gateway.faults.fail = {fault}
    reply = await gateway.call("batch", {"operations": [PUT, GET]})
    assert reply.status == 503
    assert await outcomes(gateway) == {("put", "error"): 1, ("get", "error"): 1}


async def test_refusals_by_the_storage_limit_are_shown_by_app_environment():
    apps = [{**each, "max_bytes": 8} for each in with_limit(600)["apps"]]
    async with run_gateway({"apps": apps}) as gateway:
        await gateway.put("k", 1)
        refused = await gateway.put("k", "more than fits")
        assert (refused.status, refused.error) == (403, "storage_limit_reached")
        await gateway.call("batch", {"operations": [{**PUT, "value": "more than fits"}, GET]})
        samples = await scrape(gateway)
        assert await outcomes(gateway) == {("put", "ok"): 1, ("put", "error"): 2, ("get", "ok"): 1}
    labels = {"org": "acme", "app": "shop", "env": "production"}
    assert total(samples, "kvs_storage_limit_refusals_total", **labels) == 2
