"""Series are capped, totals stay true, idle series go and come back (D152)."""

import pytest

from gateway.domain.model import Operation, UsageOutcome
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition
from tests.support.scraping import (
    REQUEST_BYTES,
    REQUESTS,
    USAGE,
    Samples,
    count,
    parse,
    series,
    tenant,
    total,
    use_everything,
)

IDLE_MS = 600_000
FIRST_SAMPLE_MS = 60_000

ONE_TABLE = 60
"""A cap with room for one operation and outcome of one table, beside `_other` and the overflow count."""


class Drain:
    has_begun = False


def usage_of(clock, max_series: int = 100_000, first_sample_ms: int = 0, drain: Drain | None = None) -> Usage:
    drain = drain or Drain()
    return Usage(
        max_series=max_series,
        idle_ms=IDLE_MS,
        first_sample_ms=first_sample_ms,
        now_ms=clock.monotonic_ms,
        is_draining=lambda: drain.has_begun,
    )


async def shown(usage: Usage) -> Samples:
    return parse(await Exposition(usage, ServiceMetrics()).usage())


async def drop_all(usage: Usage, clock) -> None:
    """Runs a scrape, then lets the idle time pass."""
    await shown(usage)
    clock.advance(IDLE_MS)
    await usage.drop_idle()
    assert set(usage.rows()) <= {usage._other}


async def test_there_is_nothing_where_nothing_was_called(clock):
    assert await shown(usage_of(clock)) == {}


async def test_a_table_shows_the_operations_and_outcomes_that_it_has_had(clock):
    usage = usage_of(clock)
    usage.count(tenant(0), Operation.PUT, UsageOutcome.INVALID, 7, 9)
    samples = await shown(usage)
    assert total(samples, REQUESTS, operation="put", outcome="invalid") == 1
    assert sorted(series(samples, USAGE)) == [1.0, 7.0, 9.0]
    usage.count(tenant(0), Operation.PUT, UsageOutcome.OK, 7, 9)
    assert sorted(series(await shown(usage), USAGE)) == [1.0, 1.0, 14.0, 18.0]


async def test_a_table_that_has_had_everything_has_56_series(clock):
    usage = usage_of(clock)
    use_everything(usage, 0)
    assert len(await shown(usage)) == 56


@pytest.mark.parametrize("max_series", [57, 59, 60, 112, 113, 168, 169, 200, 560, 2000])
@pytest.mark.parametrize("tables", [1, 3, 60])
async def test_there_are_never_more_series_than_allowed(clock, max_series, tables):
    usage = usage_of(clock, max_series)
    for number in range(tables):
        count(usage, number)
    for number in range(tables):
        use_everything(usage, number)
    overflow_count = 1
    samples = await shown(usage)
    assert len(samples) + overflow_count <= max_series
    assert total(samples, REQUESTS) == tables * 43


@pytest.mark.parametrize("max_series", [57, 169, 560, 100_000])
async def test_totals_stay_true_beyond_the_cap(clock, max_series):
    usage = usage_of(clock, max_series)
    for number in range(50):
        count(usage, number, times=number)
    samples = await shown(usage)
    assert total(samples, REQUESTS) == sum(range(50))
    assert total(samples, REQUEST_BYTES) == 10 * sum(range(50))


async def test_requests_beyond_the_cap_are_other_in_every_label(clock):
    usage = usage_of(clock, ONE_TABLE)
    count(usage, 7, times=3)
    count(usage, 8, times=2)
    samples = await shown(usage)
    other = {"org": "_other", "app": "_other", "env": "_other", "table": "_other"}
    assert total(samples, REQUESTS, **other) == 2
    assert total(samples, REQUESTS, app="app7") == 3
    assert usage.overflowed == 2


async def test_a_table_that_has_series_keeps_them_though_there_is_no_room_for_another_outcome(clock):
    usage = usage_of(clock, ONE_TABLE)
    count(usage, 7)
    usage.count(tenant(7), Operation.GET, UsageOutcome.NOT_FOUND, 10, 20)
    count(usage, 7)
    samples = await shown(usage)
    assert total(samples, REQUESTS, app="app7", outcome="ok") == 2
    assert total(samples, REQUESTS, app="_other", outcome="not_found") == usage.overflowed == 1


async def test_without_overflow_there_is_no_other(clock):
    usage = usage_of(clock)
    count(usage, 1)
    assert series(await shown(usage), USAGE, app="_other") == []
    assert usage.overflowed == 0


async def test_a_new_series_shows_0_for_the_baseline_period_and_loses_no_count(clock):
    usage = usage_of(clock, first_sample_ms=FIRST_SAMPLE_MS)
    count(usage, 0, times=5)
    clock.advance(FIRST_SAMPLE_MS - 1)
    count(usage, 0, times=2)
    assert series(await shown(usage), USAGE) == [0.0] * 3
    clock.advance(1)
    assert sorted(series(await shown(usage), USAGE)) == [7.0, 70.0, 140.0]


async def test_each_outcome_has_a_first_sample_of_its_own(clock):
    usage = usage_of(clock, first_sample_ms=FIRST_SAMPLE_MS)
    count(usage, 0)
    clock.advance(FIRST_SAMPLE_MS)
    usage.count(tenant(0), Operation.GET, UsageOutcome.ERROR, 10, 20)
    samples = await shown(usage)
    assert total(samples, REQUESTS, outcome="ok") == 1
    assert series(samples, USAGE, outcome="error") == [0.0]
    clock.advance(FIRST_SAMPLE_MS)
    assert total(await shown(usage), REQUESTS, outcome="error") == 1


async def test_the_series_of_other_has_a_baseline_period_as_well(clock):
    usage = usage_of(clock, 57, first_sample_ms=FIRST_SAMPLE_MS)
    count(usage, 0)
    assert series(await shown(usage), USAGE, app="_other") == [0.0] * 3
    clock.advance(FIRST_SAMPLE_MS)
    assert total(await shown(usage), REQUESTS, app="_other") == 1


async def test_a_drain_exposes_every_value_immediately(clock):
    drain = Drain()
    usage = usage_of(clock, first_sample_ms=FIRST_SAMPLE_MS, drain=drain)
    count(usage, 0, times=5)
    drain.has_begun = True
    assert total(await shown(usage), REQUESTS) == 5
    count(usage, 1)
    assert total(await shown(usage), REQUESTS) == 6


async def test_a_row_whose_counts_were_shown_for_long_is_dropped(clock):
    usage = usage_of(clock)
    count(usage, 0)
    await drop_all(usage, clock)
    assert await shown(usage) == {}


async def test_a_row_that_counts_stays(clock):
    usage = usage_of(clock)
    for _ in range(10):
        count(usage, 0)
        await shown(usage)
        clock.advance(IDLE_MS - 1)
        await usage.drop_idle()
    assert total(await shown(usage), REQUESTS) == 10


async def test_a_row_is_dropped_the_idle_time_after_a_scrape_that_showed_all_its_counts(clock):
    usage = usage_of(clock, first_sample_ms=FIRST_SAMPLE_MS)
    count(usage, 0)
    await shown(usage)  # at 0
    clock.advance(3 * IDLE_MS)
    await usage.drop_idle()
    assert total(await shown(usage), REQUESTS) == 1
    clock.advance(IDLE_MS - 1)
    await usage.drop_idle()
    assert total(await shown(usage), REQUESTS) == 1
    clock.advance(1)
    await usage.drop_idle()
    assert await shown(usage) == {}


async def test_only_the_idle_row_is_dropped(clock):
    usage = usage_of(clock)
    count(usage, 0)
    await shown(usage)
    clock.advance(IDLE_MS)
    count(usage, 1)
    await usage.drop_idle()
    samples = await shown(usage)
    assert len(series(samples, USAGE)) == 3
    assert total(samples, REQUESTS, app="app1") == 1


async def test_a_dropped_row_makes_room_for_another(clock):
    usage = usage_of(clock, ONE_TABLE)
    count(usage, 0)
    await drop_all(usage, clock)
    count(usage, 9)
    assert total(await shown(usage), REQUESTS, app="app9") == 1
    assert usage.overflowed == 0


async def test_a_dropped_row_that_returns_continues_from_its_counts(clock):
    usage = usage_of(clock, first_sample_ms=FIRST_SAMPLE_MS)
    count(usage, 0, times=5)
    clock.advance(FIRST_SAMPLE_MS)
    await drop_all(usage, clock)
    assert await shown(usage) == {}
    count(usage, 0, times=2)
    usage.count(tenant(0), Operation.GET, UsageOutcome.ERROR, 10, 20)
    samples = await shown(usage)
    assert total(samples, REQUESTS, outcome="ok") == 5
    assert total(samples, REQUESTS, outcome="error") == 0
    assert total(samples, REQUEST_BYTES) == 50
    clock.advance(FIRST_SAMPLE_MS)
    samples = await shown(usage)
    assert total(samples, REQUESTS) == 8
    assert total(samples, REQUEST_BYTES) == 80


async def test_a_row_that_came_back_is_dropped_only_after_another_idle_time(clock):
    usage = usage_of(clock)
    count(usage, 0)
    for _ in range(3):
        await drop_all(usage, clock)
        count(usage, 0)
        await shown(usage)
        clock.advance(IDLE_MS - 1)
        await usage.drop_idle()
        assert len(await shown(usage)) == 3
    assert total(await shown(usage), REQUESTS) == 4


async def test_a_dropped_row_for_which_there_is_no_room_counts_under_other_and_loses_nothing(clock):
    usage = usage_of(clock, ONE_TABLE)
    count(usage, 0, times=5)
    await drop_all(usage, clock)
    count(usage, 1)
    count(usage, 0, times=2)
    samples = await shown(usage)
    assert total(samples, REQUESTS, app="app0") == 0
    assert total(samples, REQUESTS, app="_other") == 2
    await drop_all(usage, clock)
    count(usage, 0)
    assert total(await shown(usage), REQUESTS, app="app0") == 6


async def test_as_many_dropped_rows_are_remembered_as_series_may_be_shown(clock):
    usage = usage_of(clock, max_series=ONE_TABLE)
    for number in range(ONE_TABLE + 1):
        count(usage, number)
        await drop_all(usage, clock)
    count(usage, 0)
    assert total(await shown(usage), REQUESTS, app="app0") == 1
    await drop_all(usage, clock)
    count(usage, ONE_TABLE)
    assert total(await shown(usage), REQUESTS, app=f"app{ONE_TABLE}") == 2
