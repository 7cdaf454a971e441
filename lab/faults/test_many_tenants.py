"""Tens of thousands of tenants: their series are capped, and making text of them holds nobody up."""

import asyncio
import time

import pytest

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition
from lab.faults.fleet import Fleet
from tests.support.evidence import note
from tests.support.load import Load

TENANTS = 50_000
MAX_SERIES = 10_000
TABLES = 3_200
"""With 3 series each, about ten thousand."""


async def test_fifty_thousand_tenants_once_each_stay_within_the_cap_and_are_all_counted(clock):
    usage = Usage(max_series=MAX_SERIES, idle_ms=60_000, now_ms=clock.monotonic_ms)
    for number in range(TENANTS):
        labels = TenantLabels("org", f"app{number}", "production", "table")
        usage.count(labels, Operation.GET, UsageOutcome.OK, 10, 20)
    note(tried=TENANTS)
    text = (await Exposition(usage, ServiceMetrics()).usage()).decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) <= MAX_SERIES
    counted = [line for line in lines if line.startswith("kvs_usage_requests_total")]
    assert sum(int(line.rpartition(" ")[2]) for line in counted) == TENANTS
    assert usage.overflowed == TENANTS - (len(usage.rows()) - 1)
    clock.advance(60_000)
    await usage.drop_idle()
    assert len(usage.rows()) == 1


@pytest.mark.heavy
async def test_a_scrape_every_second_of_ten_thousand_series_keeps_no_call_waiting(tmp_path):
    apps = [
        {"org": "acme", "app": f"a{n}", "type": "api", "tables": [{"name": "t", "token": f"token-{n}"}]}
        for n in range(TABLES)
    ]
    async with Fleet(tmp_path, [{"apps": apps}]) as fleet:
        (gateway,) = fleet.gateways
        for number in range(TABLES):
            assert (await gateway.get("k", token=f"token-{number}")).status == 200
        async with Load([gateway], token="token-0", per_second=500) as load:
            scraped = 0
            await asyncio.sleep(5)
            quiet = p99(load)
            load.answers.clear()
            ends = time.monotonic() + 10
            while time.monotonic() < ends:
                scraped = len(await gateway.metrics())
                await asyncio.sleep(1)
            busy = p99(load)
        await load.check_all()
    assert scraped > 9_000
    assert load.lies == []
    assert {answer.status for answer in load.answers} == {200}
    assert busy < quiet + 0.05 + load.held_up + fleet.watch.own_lag


def p99(load: Load) -> float:
    seconds = sorted(answer.seconds for answer in load.answers)
    return seconds[len(seconds) * 99 // 100]
