"""The service's own metrics."""

import asyncio

import pytest

from gateway import __version__
from tests.support.clock import FakeClock
from tests.support.gateway import run_gateway
from tests.support.refusals import data_plane_refusals
from tests.support.scraping import hanging_call, scrape, series, total

APP = "/v1/orgs/acme/apps/new"


async def test_the_version_is_shown(gateway):
    assert total(await scrape(gateway), "kvs_build_info", version=__version__) == 1


async def test_the_start_time_is_exposed_to_the_millisecond():
    """Billing distinguishes two processes at one address by it."""
    clock = FakeClock(wall_ms=1_795_132_800_123)
    async with run_gateway(clock=clock) as gateway:
        clock.advance(5_000)
        assert total(await scrape(gateway), "process_start_time_seconds") == 1_795_132_800.123


async def test_process_metrics_of_the_kernel_are_exposed(gateway):
    samples = await scrape(gateway)
    assert total(samples, "process_resident_memory_bytes") > 0
    assert total(samples, "process_open_fds") > 0


async def test_answers_are_counted_by_operation_and_status(gateway):
    await gateway.put("k", 1)
    await gateway.get("k")
    await gateway.get("k", token=None)
    samples = await scrape(gateway)
    assert total(samples, "kvs_http_requests_total", operation="put", status="200") == 1
    assert total(samples, "kvs_http_requests_total", operation="get", status="200") == 1
    assert total(samples, "kvs_http_requests_total", operation="get", status="401") == 1
    assert total(samples, "kvs_http_requests_total") == 3


async def test_an_unknown_route_is_counted_as_other(gateway):
    await gateway.call("get", {}, path="/v1/scan")
    assert total(await scrape(gateway), "kvs_http_requests_total", operation="other", status="404") == 1


async def test_requests_that_the_parser_refuses_are_counted_as_other(gateway):
    await gateway.send_raw(b"nonsense\r\n\r\n")
    samples = await scrape(gateway)
    assert total(samples, "kvs_http_requests_total", operation="other", status="400") == 1
    assert total(samples, "kvs_refusals_total", code="bad_request") == 1


async def test_calls_of_the_other_listeners_are_not_counted(gateway):
    await gateway.ask_ops("/livez")
    await gateway.manage("GET", "/v1/orgs/acme/apps")
    assert total(await scrape(gateway), "kvs_http_requests_total") == 0


async def test_durations_are_counted_by_operation(gateway):
    await gateway.put("k", 1)
    samples = await scrape(gateway)
    name = "kvs_http_request_duration_seconds"
    assert total(samples, f"{name}_count", operation="put") == 1
    assert total(samples, f"{name}_bucket", operation="put", le="+Inf") == 1
    assert 0 < total(samples, f"{name}_sum", operation="put") < 5


async def test_buckets_of_a_histogram_only_rise(gateway):
    await gateway.put("k", 1)
    samples = await scrape(gateway)
    name = "kvs_http_request_duration_seconds_bucket"
    buckets = sorted(
        (float(labels["le"]), value)
        for (each, carried), value in samples.items()
        if each == name and (labels := dict(carried))["operation"] == "put"
    )
    assert buckets == sorted(buckets, key=lambda bucket: (bucket[1], bucket[0]))


async def test_every_refusal_is_shown_at_0_from_the_start(gateway):
    samples = await scrape(gateway)
    shown = {dict(labels)["code"] for name, labels in samples if name == "kvs_refusals_total"}
    assert shown >= {kind.code for kind in data_plane_refusals()}
    assert total(samples, "kvs_refusals_total") == 0


async def test_refusals_are_counted_by_code(gateway):
    await gateway.get("k", token=None)
    await gateway.get("k", token=None)
    await gateway.get("")
    samples = await scrape(gateway)
    assert total(samples, "kvs_refusals_total", code="missing_token") == 2
    assert total(samples, "kvs_refusals_total", code="invalid_key") == 1
    assert total(samples, "kvs_refusals_total") == 3


async def test_requests_in_flight_are_shown_while_they_are_served(gateway):
    calls = [await hanging_call(gateway) for _ in range(3)]
    assert total(await scrape(gateway), "kvs_requests_in_flight") == 3
    gateway.faults.gate.set()
    await asyncio.gather(*calls)
    assert total(await scrape(gateway), "kvs_requests_in_flight") == 0


async def test_requests_refused_for_overload_are_counted_and_not_in_flight():
    async with run_gateway({"edge": {"max_in_flight": 1}}) as gateway:
        call = await hanging_call(gateway)
        assert (await gateway.get("k")).error == "overloaded"
        samples = await scrape(gateway)
        gateway.faults.gate.set()
        await call
    assert total(samples, "kvs_refusals_total", code="overloaded") == 1
    assert total(samples, "kvs_requests_in_flight") == 1


async def test_store_calls_are_timed_by_operation_and_outcome(gateway):
    await gateway.put("k", 1)
    gateway.faults.fail = {"get"}
    await gateway.get("k")
    samples = await scrape(gateway)
    name = "kvs_store_duration_seconds_count"
    assert total(samples, name, backend="memory", operation="put", outcome="ok") == 1
    assert total(samples, name, backend="memory", operation="get", outcome="error") == 1
    assert total(samples, name, backend="memory", operation="get", outcome="ok") == 0
    assert total(samples, name, backend="memory", operation="charge") == 0


async def test_the_directory_cache_shows_its_hits_misses_and_size(gateway):
    await gateway.manage("PUT", APP, {"type": "api"})
    token = (await gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "t"})).json["token"]
    for _ in range(3):
        await gateway.get("k", token=token)
    samples = await scrape(gateway)
    assert total(samples, "kvs_directory_cache_misses_total") == 1
    assert total(samples, "kvs_directory_cache_hits_total") == 2
    assert total(samples, "kvs_directory_cache_entries") == 1


async def test_the_directory_cache_counts_stale_tokens_during_an_outage(gateway):
    await gateway.manage("PUT", APP, {"type": "api"})
    token = (await gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "t"})).json["token"]
    await gateway.get("k", token=token)
    gateway.faults.fail = {"read", "changes"}
    gateway.clock.advance(60_000)
    assert (await gateway.get("k", token=token)).status == 200
    assert total(await scrape(gateway), "kvs_directory_cache_stale_total") == 1


async def test_the_count_of_overflowed_usage_is_shown_at_0_from_the_start(gateway):
    assert series(await scrape(gateway), ["kvs_usage_overflow_total"]) == [0.0]


@pytest.mark.parametrize("is_up", [True, False])
async def test_every_dependency_is_shown_as_it_is(gateway, is_up):
    gateway.faults.fail = set() if is_up else {"ping"}
    await gateway.app.ops.health.check()
    samples = await scrape(gateway)
    shown = {
        name: total(samples, "kvs_dependency_up", dependency=name)
        for name in ("store", "counters", "directory")
    }
    assert shown == dict.fromkeys(shown, int(is_up))
    assert len(series(samples, ["kvs_dependency_up"])) == 3


async def test_reclaiming_exposes_pending_tables_and_progress(gateway):
    await gateway.manage("PUT", APP, {"type": "api"})
    created = await gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "doomed"})
    for number in range(3):
        await gateway.put(f"k{number}", 1, token=created.json["token"])
    names = ["tables_pending", "tables_dropped_total"]

    async def shown() -> list[float]:
        samples = await scrape(gateway)
        return [total(samples, f"kvs_reclaim_{name}") for name in names]

    assert await shown() == [0, 0]
    await gateway.manage("DELETE", f"{APP}/services/kvs/tables/doomed")
    while await shown() != [1, 1]:  # noqa: ASYNC110 - the reclaimer follows the feed
        await asyncio.sleep(0.05)
