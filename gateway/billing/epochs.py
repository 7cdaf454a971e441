"""Epochs: the process that each scrape belongs to.

An epoch is the life of one process, named by its start in Unix milliseconds. Counters begin at 0 with each
process: within an epoch the difference of two samples is the number of requests in between; across epochs it
means nothing. A lower value alone does not reveal a new process, because the new one may count beyond the
end of the old one before its first scrape (D154).

Every gateway exposes its start as a gauge, but counters and gauge may be scraped separately
(`/metrics/usage`, `/metrics/service`). The epoch of a scrape is therefore derived from the starts scraped
before and after it:

- Both are equal: the scrape belongs to that process.
- They differ: the process was replaced between them, at the later start. A scrape before that moment belongs
  to the earlier process, a scrape after it to the later.
- The scrape is so close to that moment that clock skew between gateway and Prometheus makes it ambiguous.
  Counters do not fall while a process lives, so the first scrape in which any counter of the target fell
  is the first of the later process. If none fell, the start time decides.
- No start is within reach: the epoch is unknown, and a fall counts as a new process.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import groupby, zip_longest
from operator import itemgetter

from gateway.billing.samples import Labels, Series

Epoch = int | None
"""Start of a process, in Unix milliseconds; None if unknown."""

REACH_MS = 300_000
"""Largest distance between a scrape and a start that applies to it; Prometheus' own lookback."""

_CLOCK_BEHIND_MS = 1_000
_CLOCK_AHEAD_MS = 2_000
"""Tolerated skew of Prometheus' clock, behind or ahead of the gateway's."""


class Starts:
    """Starts that one target exposed."""

    def __init__(self, series: Iterable[Series]) -> None:
        points = sorted({point for each in series for point in each.points})
        self._times = [time for time, _ in points]
        self._epochs = [round(1000 * seconds) for _, seconds in points]

    def around(self, time_ms: int) -> tuple[Epoch, Epoch]:
        """Returns the two epochs that a scrape may belong to, earlier first; equal if there is no doubt."""
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
        """Returns the times of scraped starts in (after, until]."""
        return self._times[bisect_right(self._times, after_ms) : bisect_right(self._times, until_ms)]

    def _within_reach(self, index: int, time_ms: int) -> Epoch:
        if 0 <= index < len(self._times) and abs(self._times[index] - time_ms) <= REACH_MS:
            return self._epochs[index]
        return None


def starts_of(target: Labels, gauges: Iterable[Series]) -> Starts:
    """Returns the starts of the target's `instance`, from the gauges that share most labels with it."""
    wanted = dict(target)
    same = [each for each in gauges if dict(each.labels).get("instance") == wanted.get("instance")]
    agreeing = [(len(set(each.labels) & set(target)), each) for each in same]
    most = max(map(itemgetter(0), agreeing), default=0)
    return Starts(each for labels, each in agreeing if labels == most)


def epochs_of(
    times_ms: Iterable[int], starts: Starts, previous: Epoch, fell: Callable[[int], bool]
) -> dict[int, Epoch]:
    """Returns the epoch of each scrape, for `times_ms` in order.

    `previous` is the epoch of the scrape before the first one. `fell` returns True for a scrape in which any
    counter of the target was lower than in the scrape before.
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
