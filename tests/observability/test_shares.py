"""The cap on series is shared: no tenant pushes the usage of another into `_other`."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.catalogue import USAGE_REQUESTS
from gateway.observability.usage import Usage
from tests.support.clock import FakeClock

IDLE_MS = 3_600_000
FIRST_SAMPLE_MS = 60_000
MINUTE_MS = 60_000
MAX_SERIES = 10_057
SERIES = 10_000
"""Without those of `_other` and the overflow counter."""


@pytest.fixture
def clock():
    return FakeClock()


def usage_of(clock: FakeClock, max_series: int = MAX_SERIES) -> Usage:
    return Usage(
        max_series=max_series, idle_ms=IDLE_MS, first_sample_ms=FIRST_SAMPLE_MS, now_ms=clock.monotonic_ms
    )


def labels(org: str, app: str, table: int) -> TenantLabels:
    return TenantLabels(org, app, "production", f"t{table}")


def count(usage: Usage, *tables: TenantLabels) -> int:
    """Counts a get of each table. Returns how many have a row of their own."""
    before = usage.overflowed
    for each in tables:
        usage.count(each, Operation.GET, UsageOutcome.OK, 10, 20)
    return len(tables) - (usage.overflowed - before)


def shown(usage: Usage, org: str) -> int:
    """Scrapes, and returns the requests of an organization."""
    lines = usage.text(usage.rows(), USAGE_REQUESTS).splitlines()
    return sum(int(line.rpartition(" ")[2]) for line in lines if f'{{org="{org}"' in line)


def test_an_app_gets_at_most_three_quarters_of_the_series(clock):
    usage = usage_of(clock)
    tables = count(usage, *(labels("evil", "shop", number) for number in range(SERIES)))
    assert tables == SERIES * 3 // 4 // 3 + 1
    assert count(usage, *(labels("acme", "blog", number) for number in range(500))) == 500


def test_the_apps_of_an_organization_get_at_most_seven_eighths_of_the_series(clock):
    usage = usage_of(clock)
    tables = count(usage, *(labels("evil", f"app{number}", 0) for number in range(SERIES)))
    assert tables == SERIES * 7 // 8 // 3 + 1
    assert count(usage, *(labels("acme", "blog", number) for number in range(200))) == 200


async def test_a_tenant_that_creates_and_deletes_tables_for_hours_takes_no_series_of_others(clock):
    usage = usage_of(clock)
    for minute in range(180):
        count(usage, *(labels("evil", "shop", 500 * minute + number) for number in range(500)))
        table = labels("acme", f"app{minute % 50}", minute)
        assert count(usage, *[table] * 10) == 10
        clock.advance(MINUTE_MS)
        shown(usage, "acme")
        await usage.drop_idle()


async def test_beyond_its_share_an_app_loses_idle_rows_once_every_server_has_scraped_them(clock):
    usage = usage_of(clock)
    count(usage, *(labels("evil", "shop", number) for number in range(SERIES)))
    count(usage, labels("acme", "blog", 0))
    clock.advance(FIRST_SAMPLE_MS)
    shown(usage, "evil")
    clock.advance(FIRST_SAMPLE_MS - 1)
    await usage.drop_idle()
    assert shown(usage, "evil") > 0
    clock.advance(1)
    await usage.drop_idle()
    assert 0 < shown(usage, "evil") < SERIES // 4
    assert shown(usage, "acme") == 1


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 5), st.integers(0, 90_000)),
        max_size=80,
    )
)
def test_shares_are_those_of_the_rows_for_any_calls(calls):
    asyncio.run(_play(calls))


async def _play(calls: list[tuple[int, int, int, int]]) -> None:
    clock = FakeClock()
    usage = usage_of(clock, 97)
    for org, app, table, passed_ms in calls:
        count(usage, labels(f"org{org}", f"app{app}", table))
        clock.advance(passed_ms)
        shown(usage, "")
        await usage.drop_idle()
        rows = {each: len(row) for each, row in usage._rows.items()}
        assert usage._room == 40 - sum(rows.values()) >= 0
        assert usage._held.total() == 2 * sum(rows.values())
        assert all(usage._held.values())
    clock.advance(FIRST_SAMPLE_MS)
    shown(usage, "")
    clock.advance(IDLE_MS)
    await usage.drop_idle()
    assert (usage._room, usage._held) == (40, {})
