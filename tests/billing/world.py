"""Processes that count, restart and share addresses, and an archive of what was scraped of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from gateway.billing.samples import COUNTERS, REQUESTS, Labels, Series, TooManySamples

START_MS = 1_800_000_000_000
OUTCOMES = ("ok", "not_found")


def labels(**values: str) -> Labels:
    return tuple(sorted(values.items()))


def usage_series(table: str, outcome: str | None, name: str, target: Labels) -> Labels:
    tenant = {"org": "acme", "app": "shop", "env": "production", "table": table, "operation": "get"}
    own = {"__name__": name, **tenant}
    if outcome is not None:
        own["outcome"] = outcome
    return tuple(sorted([*own.items(), *target]))


class Process:
    """Counts requests of 10 and 20 bytes; it shows all that it has counted, but for hidden tables."""

    def __init__(self, started_ms: int) -> None:
        self.started_ms = started_ms
        self.counts: Counter[tuple[str, str]] = Counter()
        self.hidden: set[str] = set()

    def values(self, target: Labels) -> dict[Labels, int]:
        shown = {}
        for table in {table for table, _ in self.counts} - self.hidden:
            requests = sum(self.counts[table, outcome] for outcome in OUTCOMES)
            for outcome in OUTCOMES:
                shown[usage_series(table, outcome, REQUESTS, target)] = self.counts[table, outcome]
            for name, size in zip([*COUNTERS][1:], (10, 20), strict=True):
                shown[usage_series(table, None, name, target)] = size * requests
        return shown


class FakeArchive:
    """Keeps samples in memory; `most_samples` is what it gives in one answer."""

    def __init__(self, most_samples: int | None = None) -> None:
        self.most_samples = most_samples
        self.read_by_ends = 0
        self._counters: defaultdict[Labels, dict[int, float]] = defaultdict(dict)
        self._starts: defaultdict[Labels, dict[int, float]] = defaultdict(dict)

    def scrape(self, process: Process, target: Labels, time_ms: int) -> None:
        """The counters alone, as `/metrics/usage` has them."""
        for series, value in process.values(target).items():
            self._counters[series][time_ms] = float(value)

    def scrape_start(self, process: Process, target: Labels, time_ms: int, *, error_ms: int = 0) -> None:
        series = tuple(sorted([("__name__", "process_start_time_seconds"), *target]))
        self._starts[series][time_ms] = (process.started_ms - error_ms) / 1000

    def counters(self, after_ms: int, until_ms: int) -> Iterable[Series]:
        return self._range(self._counters, after_ms, until_ms)

    def starts(self, after_ms: int, until_ms: int) -> Iterable[Series]:
        return self._range(self._starts, after_ms, until_ms)

    def targets(self, after_ms: int, until_ms: int) -> Iterable[Labels]:
        return {each.target for each in self._range(self._counters, after_ms, until_ms, is_limited=False)}

    def ends(self, target: Labels, after_ms: int, until_ms: int) -> Iterable[Series] | None:
        self.read_by_ends += 1
        found = self._range(self._counters, after_ms, until_ms, is_limited=False)
        ends = []
        for each in found:
            if each.target == target:
                values = [value for _, value in each.points]
                if any(later < earlier for earlier, later in pairwise(values)):
                    return None
                ends.append(Series(each.labels, [(0, min(values)), (0, values[-1])]))
        return ends

    def last_counters(self, target: Labels, after_ms: int, until_ms: int) -> Iterable[Series]:
        found = self._range(self._counters, after_ms, until_ms, is_limited=False)
        return [Series(each.labels, each.points[-1:]) for each in found if each.target == target]

    def _range(self, samples, after_ms: int, until_ms: int, *, is_limited: bool = True) -> list[Series]:
        found = []
        for series, points in samples.items():
            within = sorted(point for point in points.items() if after_ms < point[0] <= until_ms)
            if within:
                found.append(Series(series, within))
        if is_limited and self.most_samples and sum(len(each.points) for each in found) > self.most_samples:
            raise TooManySamples
        return found
