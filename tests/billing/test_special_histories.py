"""Histories that seldom happen, and what is billed of them."""

import pytest

from gateway.billing.ledger import Ledger
from gateway.billing.period import read_period
from gateway.billing.samples import REQUESTS, TENANT, Labels, Series
from tests.billing.world import START_MS, FakeArchive, Process, labels

MINUTE_MS, DAY_MS = 60_000, 86_400_000
SLOT = ("sessions", "ok")
HERE = labels(instance="10.0.0.1:9090", job="kvs")
THERE = labels(instance="10.0.0.2:9090", job="kvs")


class Scraped(FakeArchive):
    """Processes by what their one counter showed at some minutes."""

    def shows(
        self, process: Process, target: Labels, *samples: tuple[float, int], start: bool = True
    ) -> None:
        for minute, value in samples:
            process.counts[SLOT] = value
            time_ms = START_MS + round(minute * MINUTE_MS)
            self.scrape(process, target, time_ms)
            if start:
                self.scrape_start(process, target, time_ms)


def began(minute: float) -> Process:
    return Process(START_MS + round(minute * MINUTE_MS))


@pytest.fixture
def archive() -> Scraped:
    return Scraped()


def read(archive: Scraped, lookback_ms: int = 30 * DAY_MS, minutes: int = 60) -> Ledger:
    """The hour after START_MS."""
    end_ms = START_MS + minutes * MINUTE_MS
    return read_period(archive, from_ms=START_MS, to_ms=end_ms, lookback_ms=lookback_ms)


def requests(ledger: Ledger) -> int:
    return sum(totals["requests"] for totals in ledger.totals.values())


def test_a_process_from_before_the_period_is_billed_from_its_last_sample_then(archive):
    archive.shows(began(-100), HERE, (-90, 3), (-1, 10), (1, 12))
    assert requests(read(archive)) == 2


def test_a_table_that_was_idle_for_days_is_billed_from_where_it_was(archive):
    archive.shows(began(-20_000), HERE, (-19_000, 500), (30, 501))
    assert requests(read(archive)) == 1


def test_values_of_an_older_process_at_the_same_address_are_no_baseline(archive):
    archive.shows(began(-200), HERE, (-190, 500))
    archive.shows(began(-100), HERE, (30, 501))
    assert requests(read(archive)) == 501


def test_requests_not_scraped_before_the_period_are_billed_in_it(archive):
    archive.shows(began(-100), HERE, (1, 7))
    assert requests(read(archive)) == 7


def test_a_restart_shows_by_its_start_time_alone(archive):
    archive.shows(began(-100), HERE, (-1, 10), (1, 12))
    archive.shows(began(2), HERE, (3, 12), (4, 13))
    assert requests(read(archive)) == 2 + 13


@pytest.mark.parametrize("early_ms", [0, 500, 999])
def test_scrapes_before_the_new_start_time_is_known_belong_to_the_process_that_shows_less(archive, early_ms):
    """Start times are scraped apart and are a little early: for a moment they fit the old process as well."""
    usage, service = [labels(instance="10.0.0.1:9090", endpoint=name) for name in ("usage", "service")]
    old, new, end_ms = began(-100), began(10), START_MS + 10 * MINUTE_MS
    archive.shows(old, usage, (-1, 8), (9.9, 10), (9.999, 11), start=False)
    archive.scrape_start(old, service, end_ms - 5_000)
    for after_ms, value in ((300, 0), (1_000, 4), (5_000, 7)):
        new.counts[SLOT] = value
        archive.scrape(new, usage, end_ms + after_ms)
    archive.scrape_start(new, service, end_ms + 2_000, error_ms=early_ms)
    assert requests(read(archive)) == 3 + 7


def scraped_apart(archive, old: Process, new: Process, *samples: tuple[Process, int, int]) -> None:
    """Usage by process, milliseconds after the minute 10, and value; start times 5 s before and after."""
    usage, service = [labels(instance="10.0.0.1:9090", endpoint=name) for name in ("usage", "service")]
    minute_ms = START_MS + 10 * MINUTE_MS
    archive.scrape_start(old, service, minute_ms - 5_000)
    for process, after_ms, value in samples:
        process.counts[SLOT] = value
        archive.scrape(process, usage, minute_ms + after_ms)
    archive.scrape_start(new, service, minute_ms + 5_000)


def test_the_first_calls_after_an_immediate_restart_belong_to_the_new_process(archive):
    """It was scraped at 0, and then while its successor's start was near."""
    old, new = began(9.9), began(10)
    scraped_apart(archive, old, new, (old, -5_000, 0), (old, -700, 15), (new, 800, 40), (new, 6_000, 41))
    assert requests(read(archive)) == 15 + 41


@pytest.mark.parametrize("first_ms", [0, 1, 400, 1_999])
def test_a_process_that_has_overtaken_its_predecessor_when_it_is_first_scraped_is_billed_once(
    archive, first_ms
):
    old, new = began(9.9), began(10)
    scraped_apart(archive, old, new, (old, -900, 15), (old, -1, 15), (new, first_ms, 40), (new, 6_000, 41))
    assert requests(read(archive)) == 15 + 41


@pytest.mark.parametrize("ahead_ms", [-700, 700, 1_900])
def test_with_clock_skew_the_first_fall_marks_the_new_process_even_if_it_is_late(archive, ahead_ms):
    """Prometheus' clock is ahead of the gateway's, or behind."""
    old, new = began(-100), began(10)
    samples = [(old, -5_000, 900), (old, ahead_ms - 10, 910), (new, ahead_ms + 20_000, 41)]
    scraped_apart(archive, old, new, *samples)
    assert requests(read(archive)) == 910 + 41


def test_a_short_lived_process_is_distinguished_from_both_neighbours(archive):
    usage, service = [labels(instance="10.0.0.1:9090", endpoint=name) for name in ("usage", "service")]
    for number, value in enumerate((30, 20, 10)):
        process = Process(START_MS + 10_000 + number * 1_000)
        archive.scrape_start(process, service, process.started_ms + 200)
        process.counts[SLOT] = value
        archive.scrape(process, usage, process.started_ms + 500)
    assert requests(read(archive)) == 30 + 20 + 10


def test_without_start_times_a_lower_value_is_a_restart(archive):
    archive.shows(began(-100), HERE, (-1, 10), (1, 12), start=False)
    archive.shows(began(2), HERE, (3, 5), (4, 6), start=False)
    assert requests(read(archive)) == 2 + 6


def test_a_process_that_never_showed_its_start_time_before_is_not_a_new_one(archive):
    process = began(-100)
    archive.shows(process, HERE, (-1, 10), (1, 12), start=False)
    archive.shows(process, HERE, (20, 13))
    assert requests(read(archive)) == 3


def test_a_counter_that_the_process_itself_forgot_begins_at_0(archive):
    archive.shows(began(-100), HERE, (-1, 10), (1, 12), (2, 3))
    assert requests(read(archive)) == 2 + 3


def test_a_series_last_shown_before_the_lookback_is_not_billed_twice_and_reported(archive):
    archive.shows(began(-20_000), HERE, (-19_000, 500), (30, 501), (31, 503))
    ledger = read(archive, lookback_ms=DAY_MS)
    assert requests(ledger) == 2
    assert ledger.unsure == 3  # requests, and bytes of both


def test_start_times_of_other_programs_of_the_address_do_not_count(archive):
    archive.shows(began(-100), HERE, (-1, 10), (1, 12))
    archive.scrape_start(began(0.5), labels(instance="10.0.0.1:9090", job="node"), START_MS + 40_000)
    assert requests(read(archive)) == 2


def test_targets_are_distinguished(archive):
    archive.shows(began(-100), HERE, (-1, 10), (1, 12))
    archive.shows(began(-90), THERE, (-1, 20), (1, 23))
    ledger = read(archive)
    assert requests(ledger) == 5
    assert all(len(targets) == 1 for targets in ledger.scraped_under.values())


def test_a_process_that_is_scraped_under_two_names_is_reported(archive):
    process = began(-100)
    other_name = labels(instance="10.0.0.1:9090", job="again")
    archive.shows(process, HERE, (-1, 10), (1, 12))
    archive.shows(process, other_name, (-1, 10), (1, 12))
    assert {HERE, other_name} in read(archive).scraped_under.values()


def test_nothing_scraped_is_nothing_read(archive):
    archive.shows(began(-100), HERE, (-1, 10))
    ledger = read(archive)
    assert (ledger.has_samples, dict(ledger.totals)) == (False, {})


def test_days_without_a_restart_are_read_by_their_ends_alone(archive, monkeypatch):
    monkeypatch.setattr(archive, "counters", None)
    process, minutes = began(-100), 20 * 1_440
    archive.shows(process, HERE, *((minute, minute) for minute in range(1, minutes + 1, 5)))
    ledger = read(archive, minutes=minutes)
    assert requests(ledger) == minutes - 4
    assert archive.read_by_ends == 20


def test_a_counter_that_the_process_forgot_and_counted_beyond_in_the_same_day_is_billed_exactly(archive):
    process = began(-100)
    archive.shows(process, HERE, (-1, 10), (1, 12), (700, 0), (701, 15), (900, 0), (901, 40), (1_400, 41))
    assert requests(read(archive, minutes=1_440)) == 2 + 15 + 41


def test_a_target_that_returns_after_days_continues_from_its_last_value(archive):
    process, day = began(-100), 1_440
    archive.shows(process, HERE, (-1, 10), (1, 12))
    archive.shows(process, THERE, *((minute, 1) for minute in range(1, 7 * day, 60)))
    archive.shows(process, HERE, (5 * day, 12), (5 * day + 1, 15))
    assert requests(read(archive, minutes=7 * day)) == 5 + 1


def test_the_sample_at_the_end_belongs_to_the_period_and_that_at_the_beginning_does_not(archive):
    archive.shows(began(-100), HERE, (-1, 10), (0, 11), (60, 15), (61, 40))
    assert requests(read(archive)) == 4


def test_a_tenants_labels_are_no_part_of_the_target():
    own = {"__name__": REQUESTS, **dict.fromkeys(TENANT, "x"), "outcome": "ok"}
    assert Series(labels(**own, **dict(HERE)), []).target == HERE
