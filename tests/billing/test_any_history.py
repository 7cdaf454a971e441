"""For any history of processes, the bill equals the counts at their last scrapes."""

from collections import Counter
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from gateway.billing.ledger import Ledger
from gateway.billing.period import read_period
from tests.billing.world import OUTCOMES, START_MS, FakeArchive, Process, labels

DAY_MS = 86_400_000
TABLES = ("sessions", "carts", "notes")
TARGET = labels(instance="10.0.0.1:9090", job="kvs")
USAGE_TARGET = labels(instance="10.0.0.1:9090", job="kvs", endpoint="usage")
START_TARGET = labels(instance="10.0.0.1:9090", job="kvs", endpoint="service")

counts = st.tuples(st.sampled_from(TABLES), st.sampled_from(OUTCOMES), st.integers(1, 50))
step = st.one_of(
    st.tuples(st.just("count"), counts),
    st.tuples(st.just("scrape"), st.just(None)),
    st.tuples(st.just("scrape_counters"), st.just(None)),
    st.tuples(st.just("hide"), st.sampled_from(TABLES)),
    st.tuples(st.just("restart"), st.integers(50, 5_000)),
    st.tuples(st.just("crash"), st.integers(50, 5_000)),
)
histories = st.lists(st.tuples(st.integers(1, 400_000), step), min_size=1, max_size=60)
slow_histories = st.lists(st.tuples(st.integers(1_000, 400_000), step), min_size=1, max_size=60)
quick = st.one_of(st.integers(1, 700), st.integers(1, 60_000))
quick_histories = st.lists(st.tuples(quick, step), min_size=1, max_size=60)


class History:
    """Plays steps on one address; `scraped` is what had been counted at the last scrape of each process.

    Start times are scraped with the counters, or `apart_ms` away from them. They are
    `error_ms` too early. `at_zero`: where they come apart, a process is first scraped while its tables
    stand at 0.
    """

    def __init__(self, *, apart_ms: int | None = None, error_ms: int = 0, at_zero: bool = True) -> None:
        self.archive = FakeArchive()
        self.scraped: Counter[tuple[str, str]] = Counter()
        self.now_ms = START_MS
        self._apart_ms, self._error_ms, self._at_zero = apart_ms, error_ms, at_zero
        self._begin_anew()

    def play(self, steps) -> "History":
        for pause_ms, (what, detail) in steps:
            self.now_ms += pause_ms
            getattr(self, what)(detail)
        self.scrape()
        return self

    def count(self, detail) -> None:
        table, outcome, times = detail
        self._process.hidden.discard(table)
        self._process.counts[table, outcome] += times

    def hide(self, table) -> None:
        """An idle table: it was scraped since it last counted, and is not shown until it counts again."""
        self.scrape()
        self._process.hidden.add(table)

    def scrape(self, _=None) -> None:
        apart_ms = self._apart_ms or 0
        if apart_ms > 0:
            self._scrape_start()
            self.now_ms += apart_ms
        self.scrape_counters()
        if apart_ms < 0:
            self.now_ms -= apart_ms
            self._scrape_start()

    def _scrape_start(self) -> None:
        self._has_shown_start = True
        self.archive.scrape_start(self._process, START_TARGET, self.now_ms, error_ms=self._error_ms)

    def scrape_counters(self, _=None) -> None:
        """Alone where start times come apart."""
        self.now_ms += 1
        if self._apart_ms is None:
            self.archive.scrape_start(self._process, TARGET, self.now_ms, error_ms=self._error_ms)
        target = TARGET if self._apart_ms is None else USAGE_TARGET
        self.archive.scrape(self._process, target, self.now_ms)
        self.scraped += self._process.counts - self._seen
        self._seen = self._process.counts.copy()

    def restart(self, down_ms) -> None:
        """Ends a process after one more scrape, as a drain does."""
        self.scrape()
        self.crash(down_ms)

    def crash(self, down_ms) -> None:
        if self._apart_ms is not None and not self._has_shown_start:
            self._scrape_start()
        self.now_ms += down_ms
        self._begin_anew()

    def _begin_anew(self) -> None:
        """With start times scraped separately, all tables begin at 0."""
        self._process, self._seen, self._has_shown_start = Process(self.now_ms), Counter(), False
        if self._apart_ms is not None:
            self._process.counts.update(dict.fromkeys(product(TABLES, OUTCOMES), 0))
        if self._apart_ms is not None and self._at_zero:
            self.now_ms += 200
            self.scrape_counters()


def billed(ledger: Ledger) -> Counter[tuple[str, str]]:
    """Requests by table and outcome; bytes must agree with them."""
    found = Counter()
    for (_, _, _, table, _), totals in ledger.totals.items():
        assert totals["requests"] == sum(totals[outcome] for outcome in OUTCOMES)
        assert (totals["request_bytes"], totals["response_bytes"]) == (
            10 * totals["requests"],
            20 * totals["requests"],
        )
        found.update({(table, outcome): totals[outcome] for outcome in OUTCOMES})
    return +found


def read(archive: FakeArchive, from_ms: int, to_ms: int) -> Counter[tuple[str, str]]:
    return billed(read_period(archive, from_ms=from_ms, to_ms=to_ms, lookback_ms=30 * DAY_MS))


@given(histories)
def test_scraped_usage_is_billed_exactly(steps):
    history = History().play(steps)
    assert read(history.archive, START_MS - 1, history.now_ms) == history.scraped


@given(histories, st.lists(st.floats(0, 1), max_size=4))
def test_adjoining_periods_add_up(steps, splits):
    history = History().play(steps)
    length = history.now_ms - START_MS
    bounds = [START_MS - 1, *sorted(START_MS + round(split * length) for split in splits), history.now_ms]
    parts = [read(history.archive, *pair) for pair in pairwise(bounds) if pair[0] < pair[1]]
    assert sum(parts, Counter()) == history.scraped


@given(slow_histories, st.integers(50, 300))
def test_the_length_of_slices_changes_nothing(steps, most_samples):
    history = History().play(steps)
    history.archive.most_samples = most_samples
    assert read(history.archive, START_MS - 1, history.now_ms) == history.scraped


@given(quick_histories, st.integers(-900, 900), st.integers(0, 999))
def test_start_times_may_be_scraped_separately_and_a_second_early(steps, apart_ms, error_ms):
    history = History(apart_ms=apart_ms, error_ms=error_ms).play(steps)
    assert read(history.archive, START_MS - 1, history.now_ms) == history.scraped


@given(quick_histories, st.integers(-900, 900).filter(bool))
def test_a_process_may_have_overtaken_the_one_before_when_it_is_first_scraped(steps, apart_ms):
    history = History(apart_ms=apart_ms, at_zero=False).play(steps)
    assert read(history.archive, START_MS - 1, history.now_ms + 1_000) == history.scraped
