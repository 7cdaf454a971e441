"""Reads a period slice by slice, so that memory grows with series and not with samples (D154).

A long slice is read by its ends: the lowest and the last value of each counter. They are enough for a
counter that did not fall in a process that did not end. A slice in which an address exposed two processes,
or in which a counter fell, is halved, down to a few minutes around the event, which are read sample by
sample.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise

from gateway.billing.epochs import REACH_MS, Epoch, Starts, starts_of
from gateway.billing.ledger import Ledger
from gateway.billing.samples import Archive, Labels, Series, TooManySamples

_LEAD_MS = 900_000
"""Lead before the period, which is read but not counted. At the start of the period the process of each
target and the last values of its counters are then known, even if clocks differ."""

_SLICE_MS = 86_400_000
_BY_SAMPLE_MS = 600_000
"""Longest slice that is read sample by sample when its ends are not enough."""

_SHORTEST_SLICE_MS = 1_000
_GONE_AFTER_MS = 86_400_000
"""A target without samples for this long is dropped; if it returns, it is opened again."""

Progress = Callable[[int], object]
"""Receives the time up to which everything was read, in Unix milliseconds."""


class _EndsNotEnough(Exception):
    """A process ended in the slice, or a counter fell."""


def read_period(
    archive: Archive, *, from_ms: int, to_ms: int, lookback_ms: int, progress: Progress = lambda _: None
) -> Ledger:
    """Reads the usage scraped in (from, to]. Raises TooManySamples if one second is still too large."""
    begin_ms = from_ms - _LEAD_MS
    ledger = Ledger(from_ms=from_ms, known_since_ms=begin_ms - lookback_ms)
    reader = _Reader(archive, ledger, begin_ms - lookback_ms)
    bounds = [begin_ms, *range(from_ms, to_ms, _SLICE_MS), to_ms]
    waiting = list(reversed(list(pairwise(bounds))))
    while waiting:
        after_ms, until_ms = waiting.pop()
        length_ms = until_ms - after_ms
        try:
            reader.read(after_ms, until_ms, by_sample=length_ms <= _BY_SAMPLE_MS)
        except (TooManySamples, _EndsNotEnough):
            if length_ms < 2 * _SHORTEST_SLICE_MS:
                raise
            middle_ms = after_ms + length_ms // 2
            waiting += [(middle_ms, until_ms), (after_ms, middle_ms)]
        else:
            progress(until_ms)
    return ledger


class _Reader:
    def __init__(self, archive: Archive, ledger: Ledger, known_since_ms: int) -> None:
        self._archive = archive
        self._ledger = ledger
        self._known_since_ms = known_since_ms

    def read(self, after_ms: int, until_ms: int, *, by_sample: bool) -> None:
        """Reads one slice. Nothing is counted before all is read: a slice that is too large is read again."""
        gauges = list(self._archive.starts(after_ms - REACH_MS, until_ms + REACH_MS))
        if not by_sample and _show_two_processes(gauges):
            raise _EndsNotEnough
        read = self._samples if by_sample else self._ends
        targets = {target: (series, starts) for target, series, starts in read(gauges, after_ms, until_ms)}
        for target, (series, starts) in targets.items():
            if target not in self._ledger:
                first_ms = min(each.points[0][0] for each in series)
                self._open(target, starts.around(first_ms)[0], after_ms)
        for target, (series, starts) in targets.items():
            self._ledger.add(target, series, starts)
        self._ledger.drop_targets(before_ms=until_ms - _GONE_AFTER_MS)

    def _samples(
        self, gauges: list[Series], after_ms: int, until_ms: int
    ) -> Iterable[tuple[Labels, list[Series], Starts]]:
        found = _by_target(self._archive.counters(after_ms, until_ms))
        return [(target, series, starts_of(target, gauges)) for target, series in found.items()]

    def _ends(
        self, gauges: list[Series], after_ms: int, until_ms: int
    ) -> Iterable[tuple[Labels, list[Series], Starts]]:
        for target in self._archive.targets(after_ms, until_ms):
            starts = starts_of(target, gauges)
            times = starts.between(after_ms, until_ms) or [after_ms + 1, until_ms]
            found = self._archive.ends(target, after_ms, until_ms)
            if found is None or len(times) == 1:
                raise _EndsNotEnough
            ends = times[0], times[-1]
            series = [
                Series(each.labels, [(at, value) for at, (_, value) in zip(ends, each.points, strict=True)])
                for each in found
            ]
            if series:
                yield target, series, starts

    def _open(self, target: Labels, epoch: Epoch, until_ms: int) -> None:
        """Opens a target; its baseline is the process' last values, or nothing if the process is younger."""
        after_ms = max(self._known_since_ms, epoch or 0)
        if after_ms < until_ms:
            baseline = self._archive.last_counters(target, after_ms, until_ms)
            self._ledger.open(target, epoch, baseline, until_ms)
        else:
            self._ledger.open(target, epoch, (), until_ms)


def _show_two_processes(gauges: Iterable[Series]) -> bool:
    """Returns True if any address exposed two starts."""
    shown: defaultdict[str | None, set[float]] = defaultdict(set)
    for each in gauges:
        shown[dict(each.labels).get("instance")].update(value for _, value in each.points)
    return any(len(values) > 1 for values in shown.values())


def _by_target(series: Iterable[Series]) -> dict[Labels, list[Series]]:
    targets = defaultdict(list)
    for each in series:
        if each.points:
            targets[each.target].append(each)
    return targets
