"""Differences of counters, added up per tenant.

Counters begin at 0 with their process and do not fall while it lives, even while they are not exposed: a
dropped usage row keeps its counts. Within an epoch the difference of two samples is therefore the usage in
between, and the first sample of an epoch counts from 0.

A fall is a reset: the value counts from 0, and no difference is negative. Where epochs are unknown, a fall
marks a new process. Within an epoch it marks a reset of one series: beyond the cap the rows dropped first
lose their counts and begin at 0 again (D152).

Requests that were counted but not scraped before the period belong to the period that scrapes them.
Adjoining periods therefore add up, and nothing is billed twice (D154).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gateway.billing.epochs import Epoch, Starts, epochs_of
from gateway.billing.samples import COUNTERS, OUTCOME, REQUESTS, TENANT, Labels, Series

Tenant = tuple[str, ...]
"""Values of the labels in `TENANT`."""


class _LastSample(Struct):
    """Last sample of one series."""

    time_ms: int
    value: float
    epoch: Epoch


class _Target(Struct):
    epoch: Epoch
    series: dict[Labels, _LastSample]
    seen_ms: int


class Ledger:
    """Adds up the usage scraped after `from_ms`.

    Samples before `known_since_ms` are not looked up. A series of an older process that has no sample since
    then counts from its first sample on: its earlier value may have been billed already.
    """

    def __init__(self, *, from_ms: int, known_since_ms: int) -> None:
        self.totals: defaultdict[Tenant, Counter[str]] = defaultdict(Counter)
        """Totals by column: `requests`, `request_bytes`, `response_bytes`, and one for each outcome."""
        self.unsure = 0
        """Number of series that count from their first sample on, although that was not 0."""
        self.has_samples = False
        """True once the period has a sample."""
        self.scraped_under: defaultdict[tuple[str, int], set[Labels]] = defaultdict(set)
        """Targets by instance and epoch. Two targets mean that one process was scraped under two names."""
        self._from_ms = from_ms
        self._known_since_ms = known_since_ms
        self._targets: dict[Labels, _Target] = {}

    def __contains__(self, target: Labels) -> bool:
        return target in self._targets

    def open(self, target: Labels, epoch: Epoch, baseline: Iterable[Series], time_ms: int) -> None:
        """Opens a target with its baseline: the counters' last values up to `time_ms`, in `epoch`."""
        last = {each.labels: _LastSample(time_ms, each.points[-1][1], epoch) for each in baseline}
        self._targets[target] = _Target(epoch, last, time_ms)

    def add(self, target: Labels, series: Sequence[Series], starts: Starts) -> None:
        """Adds all samples of a target in the next slice of time, at least one."""
        known = self._targets[target]
        times = sorted({time_ms for each in series for time_ms, _ in each.points})
        epochs = epochs_of(times, starts, known.epoch, _Falls(series, known.series))
        for each in series:
            self._add_series(each, known.series, epochs)
        known.epoch, known.seen_ms = epochs[times[-1]], times[-1]
        self.has_samples |= times[-1] > self._from_ms
        for epoch in set(epochs.values()):
            if epoch is not None:
                self.scraped_under[dict(target).get("instance", ""), epoch].add(target)

    def drop_targets(self, *, before_ms: int) -> None:
        """Drops targets without a sample since `before_ms`; their totals stay."""
        self._targets = {key: each for key, each in self._targets.items() if each.seen_ms >= before_ms}

    def _add_series(
        self, series: Series, seen: dict[Labels, _LastSample], epochs: Mapping[int, Epoch]
    ) -> None:
        last = seen.get(series.labels)
        total = 0.0
        for time_ms, value in series.points:
            epoch = epochs[time_ms]
            difference = self._first(value, epoch) if last is None else _difference(last, value, epoch)
            if time_ms > self._from_ms:
                total += difference
            if last is None:
                last = seen[series.labels] = _LastSample(time_ms, value, epoch)
            else:
                last.time_ms, last.value = time_ms, value
                last.epoch = last.epoch if epoch is None and difference < value else epoch
        if total:
            self._count(dict(series.labels), round(total))

    def _first(self, value: float, epoch: Epoch) -> float:
        if value and epoch is not None and epoch <= self._known_since_ms:
            self.unsure += 1
            return 0.0
        return value

    def _count(self, labels: Mapping[str, str], count: int) -> None:
        totals = self.totals[tuple(labels.get(name, "") for name in TENANT)]
        totals[COUNTERS[labels["__name__"]]] += count
        if labels["__name__"] == REQUESTS:
            totals[labels.get(OUTCOME, "")] += count


def _difference(last: _LastSample, value: float, epoch: Epoch) -> float:
    """Returns the increase since the last sample: the whole value if the process or the series is new."""
    if epoch is not None and last.epoch is None:
        began_anew = epoch > last.time_ms
    else:
        began_anew = epoch not in (None, last.epoch)
    return value if began_anew or value < last.value else value - last.value


class _Falls:
    """Predicate: any counter of the target was lower in this scrape than in the one before."""

    def __init__(self, series: Sequence[Series], seen: Mapping[Labels, _LastSample]) -> None:
        self._series = series
        self._seen = seen

    def __call__(self, time_ms: int) -> bool:
        pairs = [pair for each in self._series if (pair := self._pair(each, time_ms))]
        return any(value < before for before, value in pairs)

    def _pair(self, series: Series, time_ms: int) -> tuple[float, float] | None:
        """Returns the value before that time and the one at it."""
        last = self._seen.get(series.labels)
        before = last.value if last else None
        for each_ms, value in series.points:
            if each_ms == time_ms:
                return None if before is None else (before, value)
            before = value
        return None
