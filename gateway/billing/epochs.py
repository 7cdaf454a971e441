"""Which process a scrape belongs to.

An epoch is the life of one process, named by its start in Unix milliseconds. Billing needs it because
counters begin at 0 with each process: within an epoch a difference of two samples is what was counted in
between, across two epochs it means nothing. A lower value alone does not tell one process from the next,
because a new one may have counted beyond the end of the old one before it is scraped first (D56).

Every gateway shows its start as a gauge, but counters and gauge may be scraped apart (`/metrics/usage`,
`/metrics/service`). So the epoch of a scrape of the counters is read from the starts before and after it:

- Both are the same: that process.
- They differ: the process was replaced between them, at the later start. A scrape before that moment belongs
  to the earlier process, one after it to the later.
- The scrape is so close to that moment that the clocks of gateway and Prometheus, which differ, do not
  decide. Then the counters do: they do not fall while a process lives, so the first scrape in which any
  counter of the target fell is the first of the later process. If none fell, the start is taken at its
  word.
- There is no start within reach: the epoch is unknown, and a fall is taken for a new process.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import groupby, zip_longest
from operator import itemgetter

from gateway.billing.samples import Labels, Series

Epoch = int | None
"""The start of a process; None if it is not known."""

REACH_MS = 300_000
"""How far from a scrape a start still tells of it; Prometheus looks back as far."""

_CLOCK_BEHIND_MS = 1_000
_CLOCK_AHEAD_MS = 2_000
"""By how much Prometheus' clock may be behind or ahead of the gateway's."""


class Starts:
    """The starts that one target showed."""

    def __init__(self, series: Iterable[Series]) -> None:
        points = sorted({point for each in series for point in each.points})
        self._times = [time for time, _ in points]
        self._epochs = [round(1000 * seconds) for _, seconds in points]

    def around(self, time_ms: int) -> tuple[Epoch, Epoch]:
        """The epochs that a scrape may belong to, earlier first; twice the same if it is certain."""
        after = bisect_right(self._times, time_ms)
        if after and self._times[after - 1] == time_ms:
            return self._epochs[after - 1], self._epochs[after - 1]
        earlier, later = self._within_reach(after - 1, time_ms), self._within_reach(after, time_ms)
        if later is None or earlier == later:
            return earlier, earlier
        if time_ms < later - _CLOCK_BEHIND_MS:
            return earlier, earlier
        return (later, later) if time_ms > later + _CLOCK_AHEAD_MS else (earlier, later)

    def between(self, after_ms: int, until_ms: int) -> list[int]:
        """When they were shown, after the one time and until the other."""
        return self._times[bisect_right(self._times, after_ms) : bisect_right(self._times, until_ms)]

    def _within_reach(self, index: int, time_ms: int) -> Epoch:
        if 0 <= index < len(self._times) and abs(self._times[index] - time_ms) <= REACH_MS:
            return self._epochs[index]
        return None


def starts_of(target: Labels, gauges: Iterable[Series]) -> Starts:
    """The starts of the same `instance`; of several gauges, those that share most labels with the target."""
    wanted = dict(target)
    same = [each for each in gauges if dict(each.labels).get("instance") == wanted.get("instance")]
    agreeing = [(len(set(each.labels) & set(target)), each) for each in same]
    most = max(map(itemgetter(0), agreeing), default=0)
    return Starts(each for labels, each in agreeing if labels == most)


def epochs_of(
    times_ms: Iterable[int], starts: Starts, previous: Epoch, fell: Callable[[int], bool]
) -> dict[int, Epoch]:
    """The epoch of each scrape; `times_ms` are in order.

    `previous` is the epoch of the scrape before the first. `fell` tells whether any counter of the target was
    lower in a scrape than in the one before it.
    """
    epochs: dict[int, Epoch] = {}
    stretches = [(around, list(times)) for around, times in groupby(times_ms, starts.around)]
    for (around, stretch), following in zip_longest(stretches, stretches[1:]):
        earlier, later = around
        changed_ms: float = later or 0
        if later not in (earlier, previous):
            # the first scrape of the earlier process falls from the one before it, not from its own
            is_first_of_earlier = None not in (earlier, previous) and previous != earlier
            candidates = stretch[1:] if is_first_of_earlier else stretch
            of_later = following[1][:1] if following and following[0] == (later, later) else []
            changed_ms = next(filter(fell, [*candidates, *of_later]), changed_ms)
        for time_ms in stretch:
            previous = epochs[time_ms] = later if previous == later or time_ms >= changed_ms else earlier
    return epochs
