"""Series are capped, totals stay true, idle series go (D46, D47)."""

import pytest

from gateway.domain.model import Operation, UsageOutcome
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.usage import KnownTables, Usage
from gateway.opsplane.exposition import Exposition
from tests.support.scraping import (
    REQUEST_BYTES,
    REQUESTS,
    USAGE,
    Samples,
    parse,
    series,
    tenant,
    total,
    usage_of,
)

IDLE_MS = 600_000


async def shown(usage: Usage) -> Samples:
    return parse(await Exposition(usage, ServiceMetrics()).usage())


def count(usage: Usage, number: int, times: int = 1) -> None:
    """Count so many gets of a table, of 10 and 20 bytes."""
    for _ in range(times):
        usage.count(tenant(number), Operation.GET, UsageOutcome.OK, 10, 20)


async def test_a_table_with_a_row_shows_21_series_at_0(clock):
    samples = await shown(usage_of(1, clock))
    assert series(samples, USAGE, app="app0") == [0.0] * 21


async def test_a_count_goes_to_its_operation_and_outcome_alone(clock):
    usage = usage_of(1, clock)
    usage.count(tenant(0), Operation.PUT, UsageOutcome.INVALID, 7, 9)
    samples = await shown(usage)
    assert total(samples, REQUESTS, operation="put", outcome="invalid") == 1
    assert sorted(series(samples, USAGE))[-4:] == [0.0, 1.0, 7.0, 9.0]


@pytest.mark.parametrize("max_series", [22, 42, 43, 63, 64, 100, 210, 1000])
@pytest.mark.parametrize("tables", [1, 3, 60])
async def test_there_are_never_more_series_than_allowed(clock, max_series, tables):
    usage = usage_of(tables, clock, max_series)
    for number in range(tables):
        count(usage, number)
    overflow_count = 1
    assert len(await shown(usage)) + overflow_count <= max_series


@pytest.mark.parametrize("max_series", [22, 64, 210, 100_000])
async def test_totals_stay_true_beyond_the_cap(clock, max_series):
    usage = usage_of(0, clock, max_series)
    for number in range(50):
        count(usage, number, times=number)
    samples = await shown(usage)
    assert total(samples, REQUESTS) == sum(range(50))
    assert total(samples, REQUEST_BYTES) == 10 * sum(range(50))


async def test_what_finds_no_series_of_its_own_is_other_in_every_label(clock):
    usage = usage_of(1, clock, 64)
    count(usage, 7, times=3)
    count(usage, 8, times=2)
    samples = await shown(usage)
    other = {"org": "_other", "app": "_other", "env": "_other", "table": "_other"}
    assert total(samples, REQUESTS, **other) == 2
    assert total(samples, REQUESTS, app="app7") == 3
    assert usage.overflowed == 2


async def test_without_overflow_there_is_no_other(clock):
    usage = usage_of(2, clock)
    count(usage, 1)
    assert series(await shown(usage), USAGE, app="_other") == []
    assert usage.overflowed == 0


async def test_a_table_with_a_row_keeps_its_place_before_others(clock):
    usage = usage_of(1, clock, 64)
    count(usage, 5)
    count(usage, 6)
    count(usage, 0)
    assert total(await shown(usage), REQUESTS, app="app0") == 1


async def test_a_row_that_counts_nothing_for_long_is_dropped(clock):
    usage = usage_of(1, clock, idle_ms=IDLE_MS)
    usage.drop_idle()
    clock.advance(IDLE_MS)
    usage.drop_idle()
    assert await shown(usage) == {}


async def test_a_row_that_counts_stays(clock):
    usage = usage_of(1, clock, idle_ms=IDLE_MS)
    for _ in range(10):
        clock.advance(IDLE_MS // 2)
        count(usage, 0)
        usage.drop_idle()
    assert total(await shown(usage), REQUESTS) == 10


async def test_a_row_stays_for_the_whole_idle_time_after_its_last_count(clock):
    usage = usage_of(1, clock, idle_ms=IDLE_MS)
    clock.advance(IDLE_MS - 1)
    count(usage, 0)
    usage.drop_idle()
    clock.advance(IDLE_MS - 1)
    usage.drop_idle()
    assert total(await shown(usage), REQUESTS) == 1


async def test_only_the_idle_row_is_dropped(clock):
    usage = usage_of(2, clock, idle_ms=IDLE_MS)
    clock.advance(IDLE_MS)
    count(usage, 1)
    usage.drop_idle()
    samples = await shown(usage)
    assert len(series(samples, USAGE)) == 21
    assert total(samples, REQUESTS, app="app1") == 1


async def test_a_dropped_row_makes_room_for_another(clock):
    usage = usage_of(1, clock, 64, idle_ms=IDLE_MS)
    clock.advance(IDLE_MS)
    usage.drop_idle()
    count(usage, 9)
    assert total(await shown(usage), REQUESTS, app="app9") == 1
    assert usage.overflowed == 0


async def test_a_dropped_row_that_counts_again_goes_on_where_it_was(clock):
    usage = usage_of(0, clock, idle_ms=IDLE_MS)
    count(usage, 0, times=5)
    usage.drop_idle()
    clock.advance(IDLE_MS)
    usage.drop_idle()
    assert await shown(usage) == {}
    count(usage, 0)
    assert total(await shown(usage), REQUESTS) == 6


async def test_a_row_that_came_back_is_dropped_only_after_another_idle_time(clock):
    usage = usage_of(0, clock, idle_ms=IDLE_MS)
    count(usage, 0)
    for _ in range(3):
        usage.drop_idle()
        clock.advance(IDLE_MS)
        usage.drop_idle()
        count(usage, 0)
        clock.advance(IDLE_MS - 1)
        usage.drop_idle()
        assert len(await shown(usage)) == 21
        clock.advance(1)
    assert total(await shown(usage), REQUESTS) == 4


async def test_four_times_as_many_dropped_rows_are_remembered_as_may_be_shown(clock):
    usage = usage_of(0, clock, max_series=43, idle_ms=IDLE_MS)
    for number in range(5):
        count(usage, number)
        usage.drop_idle()
        clock.advance(IDLE_MS)
        usage.drop_idle()
    count(usage, 0)
    assert total(await shown(usage), REQUESTS, app="app0") == 1
    clock.advance(IDLE_MS)
    usage.drop_idle()
    clock.advance(IDLE_MS)
    usage.drop_idle()
    count(usage, 4)
    assert total(await shown(usage), REQUESTS, app="app4") == 2


async def test_a_known_table_gets_a_row_once_which_is_dropped_when_idle(clock):
    usage = usage_of(0, clock, idle_ms=IDLE_MS)
    known = KnownTables(usage)
    known.update([tenant(0)])
    assert len(await shown(usage)) == 21
    clock.advance(IDLE_MS)
    usage.drop_idle()
    known.update([tenant(0)])
    assert await shown(usage) == {}


async def test_a_table_that_was_deleted_and_made_again_gets_a_row_again(clock):
    usage = usage_of(0, clock, idle_ms=IDLE_MS)
    known = KnownTables(usage)
    known.update([tenant(0)])
    known.update([])
    clock.advance(IDLE_MS)
    usage.drop_idle()
    known.update([tenant(0)])
    assert len(await shown(usage)) == 21


async def test_a_list_of_tables_that_was_not_read_to_its_end_makes_none_forgotten(clock):
    usage = usage_of(0, clock, idle_ms=IDLE_MS)
    known = KnownTables(usage)
    known.update([tenant(0), tenant(1)])
    known.begin()
    known.note(tenant(1))
    clock.advance(IDLE_MS)
    usage.drop_idle()
    known.update([tenant(0), tenant(1)])
    assert await shown(usage) == {}
