"""Reads a period slice by slice, so that memory grows with series and not with samples (D58)."""

from collections import defaultdict
from collections.abc import Iterable

from gateway.billing.epochs import REACH_MS, Epoch, starts_of
from gateway.billing.ledger import Ledger
from gateway.billing.samples import Archive, Labels, Series, TooManySamples

_LEAD_MS = 900_000
"""Reading begins so long before the period, and counts nothing until the period begins. By then the process
of each target and the last values of its counters are known, even if clocks differ."""

_SLICE_MS = 3_600_000
_SHORTEST_SLICE_MS = 1_000


def read_period(archive: Archive, *, from_ms: int, to_ms: int, lookback_ms: int) -> Ledger:
    """What was scraped in (from, to]. Raises TooManySamples if a slice of a second is still too large."""
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
        """One slice. Nothing is counted before all was read: a slice that is too large is read again."""
        targets = _by_target(self._archive.counters(after_ms, until_ms))
        gauges = list(self._archive.starts(after_ms - REACH_MS, until_ms + REACH_MS))
        starts = {target: starts_of(target, gauges) for target in targets}
        for target, series in targets.items():
            if target not in self._ledger:
                first_ms = min(each.points[0][0] for each in series)
                self._open(target, starts[target].around(first_ms)[0])
        for target, series in targets.items():
            self._ledger.add(target, series, starts[target])

    def _open(self, target: Labels, epoch: Epoch) -> None:
        """Begin with a target; its baseline is what the process showed last, nothing if it is younger."""
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
