"""The control plane's usage of an app equals the samples of a real Prometheus."""

import asyncio
import subprocess

import pytest

from gateway.controlplane.usage import MAX_REPORTS
from tests.support.clock import FakeClock
from tests.support.gateway import run_gateway
from tests.support.prometheus import PrometheusServer, program_or_skip

NOW_SECONDS = FakeClock().wall_ms() // 1000
SCRAPED_EVERY_SECONDS = 15
PER_SCRAPE = {"ok": 10, "rate_limited": 2}
USAGE = "/v1/orgs/acme/apps/shop/usage"


def scraped() -> str:
    """Two hours of two apps whose counters rise steadily, in the format that promtool reads."""
    samples = {"kvs_usage_requests": [], "kvs_usage_request_bytes": [], "kvs_refusals": []}
    for at in range(NOW_SECONDS - 7_200, NOW_SECONDS + 1, SCRAPED_EVERY_SECONDS):
        count = (at - NOW_SECONDS + 7_200) // SCRAPED_EVERY_SECONDS
        for app, table, factor in (("shop", "sessions", 1), ("shop", "gone", 3), ("blog", "sessions", 100)):
            labels = f'org="acme",app="{app}",env="production",table="{table}",operation="put",instance="a"'
            for outcome, each in PER_SCRAPE.items():
                value = count * each * factor
                samples["kvs_usage_requests"].append(
                    f'kvs_usage_requests_total{{{labels},outcome="{outcome}"}} {value} {at}'
                )
            value = count * 1_000 * factor
            samples["kvs_usage_request_bytes"].append(
                f"kvs_usage_request_bytes_total{{{labels}}} {value} {at}"
            )
        samples["kvs_refusals"].append(f'kvs_refusals_total{{code="rate_limited"}} {count} {at}')
    lines = [line for name, each in samples.items() for line in (f"# TYPE {name} counter", *each)]
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    file = tmp_path_factory.mktemp("scraped") / "samples.om"
    file.write_text(scraped())
    server = PrometheusServer(flags=["--storage.tsdb.retention.time=10y"])
    command = [program_or_skip("promtool"), "tsdb", "create-blocks-from", "openmetrics", "-q", file]
    subprocess.run([*command, server.directory / "data"], check=True, capture_output=True)
    with server:
        yield server


async def test_requests_bytes_and_refusals_of_an_hour_are_those_that_were_scraped(prometheus):
    async with run_gateway({"console": {"prometheus": prometheus.url}}) as gateway:
        usage = (await gateway.manage("GET", USAGE)).json
    scrapes = 3_600 // SCRAPED_EVERY_SECONDS
    tables = {table["name"]: table for table in usage["tables"]}
    assert set(tables) == {"sessions", "carts"}
    sessions = tables["sessions"]
    assert sessions["requests"] == {
        "ok": 10 * scrapes, "not_found": 0, "invalid": 0, "rate_limited": 2 * scrapes,
        "precondition_failed": 0, "error": 0,
    }  # fmt: skip
    assert (sessions["request_bytes"], sessions["response_bytes"]) == (1_000 * scrapes, 0)
    assert set(tables["carts"]["requests"].values()) == {0}
    assert [table["name"] for table in usage["deleted_tables"]] == ["gone"]
    assert usage["deleted_tables"][0]["requests"]["ok"] == 30 * scrapes
    assert usage["refusals"] == {"rate_limited": scrapes}


async def test_the_rate_is_shown_beside_the_current_limit_and_over_time(prometheus):
    async with run_gateway({"console": {"prometheus": prometheus.url}}) as gateway:
        usage = (await gateway.manage("GET", USAGE)).json
        month = (await gateway.manage("GET", f"{USAGE}?range=month")).json
    sessions = next(table for table in usage["tables"] if table["name"] == "sessions")
    assert (sessions["used_per_minute"], sessions["minute_limit"]) == (48, 600)
    assert (usage["used_per_minute"], usage["requests_per_minute"]) == (48 * 4, 600)
    assert [value for _, value in sessions["series"]] == [48] * 30
    times = [time for time, _ in sessions["series"]]
    assert (times[0], times[-1]) == (NOW_SECONDS - 3_600 + 120, NOW_SECONDS)
    assert len(month["tables"][0]["series"]) <= 60


async def test_as_many_concurrent_queries_as_may_wait_are_all_answered(prometheus):
    async with run_gateway({"console": {"prometheus": prometheus.url}}) as gateway:
        replies = await asyncio.gather(*(gateway.manage("GET", USAGE) for _ in range(MAX_REPORTS)))
    assert {reply.status for reply in replies} == {200}
    assert len({reply.body for reply in replies}) == 1
