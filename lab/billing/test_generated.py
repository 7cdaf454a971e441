"""Clients' counts, `kvs-gateway usage` and `increase()` agree (D152).

On hours that were generated and not waited for, in a real Prometheus.
"""

import asyncio
import time
from datetime import UTC, datetime

import pytest

from lab.billing.generated import HOUR_MS, MINUTE_MS, Region, Server, any_calls
from tests.support.prometheus import PrometheusServer
from tests.system.billing.site import usage

HOURS = 4
ONE = Server("one", interval_ms=MINUTE_MS, offset_ms=1_000)
OTHER = Server("other", interval_ms=MINUTE_MS // 2, offset_ms=17_000)


def instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()


def increases(prometheus: PrometheusServer, start_ms: int, end_ms: int) -> dict[str, float]:
    """Totals by app over the region's whole life."""
    window = f"[{end_ms - start_ms}ms]"
    found = prometheus.query(
        f"sum by (app) (increase(kvs_usage_requests_total{window}))", time=str(end_ms / 1000)
    )
    return {each["metric"]["app"]: float(each["value"][1]) for each in found}


@pytest.mark.parametrize("servers", [(ONE,), (ONE, OTHER)], ids=["one server", "two servers"])
@pytest.mark.parametrize("tables", [1, 100, 10_000])
def test_usage_is_exact_and_increase_is_off_by_one_request_at_most(tmp_path, tables, servers):
    end_ms = int(time.time()) * 1000 - HOUR_MS
    start_ms = end_ms - HOURS * HOUR_MS
    restarts = [(start_ms + 130 * MINUTE_MS, 0), (start_ms + 180 * MINUTE_MS, 1)]
    region = Region(tmp_path, servers, start_ms, idle_ms=10 * MINUTE_MS, restarts=restarts)
    quiet_until = [at_ms for at_ms, _ in restarts]
    region.play(
        any_calls(start_ms, HOURS * HOUR_MS, tables, often=150, quiet_until=quiet_until), HOURS * HOUR_MS
    )
    assert len(region.answered) > 0.9 * tables
    for server in servers:
        with region.prometheus(server) as prometheus:
            stated = asyncio.run(usage(prometheus, instant(start_ms), instant(end_ms)))
            assert {row[1]: columns["requests"] for row, columns in stated.rows.items()} == region.answered
            assert stated.warnings == {}
            increase = increases(prometheus, start_ms, end_ms)
            off = {app: increase.get(app, 0) - count for app, count in region.answered.items()}
            assert max(map(abs, off.values())) <= 1, {app: each for app, each in off.items() if abs(each) > 1}
