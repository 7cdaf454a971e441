"""Which process a scrape belongs to. An epoch is the start of a process, in Unix milliseconds.

Usage and start times may be scraped apart (`/metrics/usage`, `/metrics/service`), so a scrape's epoch is
read from the start times before and after it. Where these differ, the process changed in between, and the
later one's start says when. Clocks differ, so around it the counters are asked first.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import groupby, zip_longest
from operator import itemgetter

from gateway.billing.samples import Labels, Series

REACH_MS = 300_000
"""How far from a scrape a start time still tells of it; Prometheus looks back as far."""

_DOUBT_BEFORE_MS = 1_000
_DOUBT_AFTER_MS = 2_000
"""How far the clocks of gateway and Prometheus may be apart."""


class Starts:
    """The start times of one target."""

    def __init__(self, series: Iterable[Series]) -> None:
        points = sorted({point for each in series for point in each.points})
        self._times = [time for time, _ in points]
        self._epochs = [round(1000 * seconds) for _, seconds in points]

    def around(self, time_ms: int) -> tuple[int | None, int | None]:
        """The epochs that a scrape may belong to, earlier first: twice the same if there is no doubt."""
        after = bisect_right(self._times, time_ms)
        if after and self._times[after - 1] == time_ms:
            return self._epochs[after - 1], self._epochs[after - 1]
        earlier, later = self._within_reach(after - 1, time_ms), self._within_reach(after, time_ms)
        if later is None or earlier == later:
            return earlier, earlier
        if time_ms < later - _DOUBT_BEFORE_MS:
            return earlier, earlier
        return (later, later) if time_ms > later + _DOUBT_AFTER_MS else (earlier, later)

    def _within_reach(self, index: int, time_ms: int) -> int | None:
        if 0 <= index < len(self._times) and abs(self._times[index] - time_ms) <= REACH_MS:
            return self._epochs[index]
        return None


def starts_of(target: Labels, gauges: Iterable[Series]) -> Starts:
    """Those of the same `instance`; where several have it, those that share most labels with the target."""
    wanted = dict(target)
    same = [each for each in gauges if dict(each.labels).get("instance") == wanted.get("instance")]
    agreeing = [(len(set(each.labels) & set(target)), each) for each in same]
    most = max(map(itemgetter(0), agreeing), default=0)
    return Starts(each for labels, each in agreeing if labels == most)


def epochs_of(
    times_ms: Iterable[int], starts: Starts, previous: int | None, fell: Callable[[int], bool]
) -> dict[int, int | None]:
    """The epoch of each scrape, in the order of time; None where it is not known.

    `previous` is the epoch of the scrape before; `fell` tells whether counters of the target were lower in a
    scrape than before. In doubt the later process begins with the first scrape that shows lower ones; where
    none does, the later one may have overtaken the earlier, and its start alone tells.
    """
    epochs: dict[int, int | None] = {}
    stretches = [(around, list(times)) for around, times in groupby(times_ms, starts.around)]
    for (around, stretch), following in zip_longest(stretches, stretches[1:]):
        earlier, later = around
        changed_ms: float = later or 0
        if later not in (earlier, previous):
            # a first scrape of the earlier process is lower than those of the one before it, not than its own
            is_first_of_earlier = None not in (earlier, previous) and previous != earlier
            candidates = stretch[1:] if is_first_of_earlier else stretch
            of_later = following[1][:1] if following and following[0] == (later, later) else []
            changed_ms = next(filter(fell, [*candidates, *of_later]), changed_ms)
        for time_ms in stretch:
            previous = epochs[time_ms] = later if previous == later or time_ms >= changed_ms else earlier
    return epochs
