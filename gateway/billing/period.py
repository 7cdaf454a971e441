"""Reads a period slice by slice, so that memory is bounded by series, not by samples."""

from collections import defaultdict
from collections.abc import Iterable

from gateway.billing.epochs import REACH_MS, starts_of
from gateway.billing.ledger import Ledger
from gateway.billing.samples import Archive, Labels, Series, TooManySamples

_LEAD_MS = 900_000
"""Reading begins so much earlier and counts nothing until the period begins: by then it is known which
process each target is, and what it showed, whatever clocks say."""

_SLICE_MS = 3_600_000
_SHORTEST_SLICE_MS = 1_000


def read_period(archive: Archive, *, from_ms: int, to_ms: int, lookback_ms: int) -> Ledger:
    """All that was scraped in (from, to]. Raises TooManySamples if that is too much even for a second."""
    begin_ms = from_ms - _LEAD_MS
    ledger = Ledger(from_ms=from_ms, known_since_ms=begin_ms - lookback_ms)
    reader = _Reader(archive, ledger, begin_ms, lookback_ms)
    slice_ms, time_ms = _SLICE_MS, begin_ms
    while time_ms < to_ms:
        until_ms = min(time_ms + slice_ms, to_ms)
        try:
            reader.read(time_ms, until_ms)
        except TooManySamples:
            slice_ms = (until_ms - time_ms) // 2
            if slice_ms < _SHORTEST_SLICE_MS:
                raise
        else:
            time_ms = until_ms
    return ledger


class _Reader:
    def __init__(self, archive: Archive, ledger: Ledger, begin_ms: int, lookback_ms: int) -> None:
        self._archive = archive
        self._ledger = ledger
        self._begin_ms = begin_ms
        self._lookback_ms = lookback_ms

    def read(self, after_ms: int, until_ms: int) -> None:
        """One slice: everything is asked for before anything is counted."""
        targets = _by_target(self._archive.counters(after_ms, until_ms))
        gauges = list(self._archive.starts(after_ms - REACH_MS, until_ms + REACH_MS))
        starts = {target: starts_of(target, gauges) for target in targets}
        for target, series in targets.items():
            if target not in self._ledger:
                first_ms = min(each.points[0][0] for each in series)
                self._open(target, starts[target].around(first_ms)[0])
        for target, series in targets.items():
            self._ledger.read(target, series, starts[target])

    def _open(self, target: Labels, epoch: int | None) -> None:
        """What the process showed last before all this: none if it began later."""
        after_ms = max(self._begin_ms - self._lookback_ms, epoch or 0)
        if after_ms < self._begin_ms:
            baseline = self._archive.last_counters(target, after_ms, self._begin_ms)
            self._ledger.open(target, epoch, baseline, self._begin_ms)
        else:
            self._ledger.open(target, epoch, (), self._begin_ms)


def _by_target(series: Iterable[Series]) -> dict[Labels, list[Series]]:
    targets = defaultdict(list)
    for each in series:
        if each.points:
            targets[each.target].append(each)
    return targets
