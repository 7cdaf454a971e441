"""For any calls and any scrapes, each server sees rises equal to the counts (D152)."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.catalogue import USAGE_REQUESTS
from gateway.observability.usage import Usage
from tests.support.clock import FakeClock
from tests.support.scraping import tenant

FIRST_SAMPLE_MS = 60_000
calls = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 5_000), st.integers(0, 400_000)),
        st.integers(0, 4),
        st.sampled_from([UsageOutcome.OK, UsageOutcome.ERROR]),
    ),
    max_size=60,
)


class Server:
    """A Prometheus: what its series rose by, without their first samples, and with them."""

    def __init__(self, interval_ms: int, next_ms: int) -> None:
        self.interval_ms, self.next_ms = interval_ms, next_ms
        self.rises = self.usage = 0
        self._last: dict[str, int] = {}

    def scrape(self, usage: Usage) -> None:
        for line in usage.text(usage.rows(), USAGE_REQUESTS).splitlines():
            series, _, value = line.rpartition(" ")
            before, now = self._last.get(series), int(value)
            self._last[series] = now
            self.rises += 0 if before is None else now - before if now >= before else now
            self.usage += now if before is None or now < before else now - before


async def play(history, max_series: int, servers: list[Server], labels=tenant) -> int:
    """Calls with scrapes between them, then a drain; returns how many calls may be no rise."""
    clock, is_draining = FakeClock(), False
    start_ms = clock.monotonic_ms()
    usage = Usage(
        max_series=max_series,
        idle_ms=120_000,
        first_sample_ms=FIRST_SAMPLE_MS,
        now_ms=clock.monotonic_ms,
        is_draining=lambda: is_draining,
    )
    recent: Counter[int] = Counter()
    for pause_ms, table, outcome in history:
        ends_ms = clock.monotonic_ms() + pause_ms
        while (server := min(servers, key=lambda each: each.next_ms)).next_ms + start_ms <= ends_ms:
            clock.advance(server.next_ms + start_ms - clock.monotonic_ms())
            server.scrape(usage)
            await usage.drop_idle()
            server.next_ms += server.interval_ms
        clock.advance(ends_ms - clock.monotonic_ms())
        usage.count(labels(table), Operation.GET, outcome, 10, 20)
        recent[clock.monotonic_ms()] += 1
    is_draining = True
    for server in servers:
        server.scrape(usage)
    since_ms = clock.monotonic_ms() - FIRST_SAMPLE_MS
    return sum(count for at_ms, count in recent.items() if at_ms >= since_ms)


@pytest.mark.parametrize("max_series", [57, 61, 66, 1000])
@given(history=calls, offsets=st.tuples(st.integers(0, 59_999), st.integers(0, 30_000)))
def test_each_server_sees_rises_equal_to_the_counts_and_bills_them(max_series, history, offsets):
    servers = [Server(59_999, offsets[0]), Server(30_000, offsets[1])]
    unseen_by_rises = asyncio.run(play(history, max_series, servers))
    for server in servers:
        assert server.usage == len(history)
        assert len(history) - unseen_by_rises <= server.rises <= len(history)


@given(history=calls, offsets=st.tuples(st.integers(0, 59_999), st.integers(0, 30_000)))
def test_tables_of_one_app_beyond_its_share_lose_no_count(history, offsets):
    servers = [Server(59_999, offsets[0]), Server(30_000, offsets[1])]
    unseen_by_rises = asyncio.run(play(history, 34, servers, labels=_table_of_one_app))
    for server in servers:
        assert server.usage == len(history)
        assert len(history) - unseen_by_rises <= server.rises <= len(history)


def _table_of_one_app(number: int) -> TenantLabels:
    return TenantLabels("acme", "shop", "production", f"t{number}")
