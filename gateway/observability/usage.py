"""Usage per table: plain integers, so that counting costs nanoseconds and rendering is joining text.

Two readers use the scraped samples. `increase()` adds up the rises of a series and does not count its first
sample as a rise; `kvs-gateway usage` counts the first sample of a process as a rise from 0. Every request
must be in exactly one rise for both readers, although only used tables have series and any number of
Prometheus servers scrape at any time. Therefore (D152):

- A series appears with its first request and shows a baseline of 0 for `first_sample_ms`, at least one
  scrape interval. Each server reads the baseline once, and the first requests are the next rise. Requests
  are counted meanwhile; only their exposure is delayed.
- No counter falls while the process lives. A row that is dropped because it is idle keeps its counts. When
  its table is called again, the kept counts are the baseline, and the same rise follows.
- A row is dropped `idle_ms` after a scrape has shown everything that it counted, so every request has been
  seen. Without scrapes nothing is dropped.
- A drain ends all baseline periods: the last scrape shows every request.

Two limits remain. At most `max_series` dropped rows keep their counts; beyond that, the row dropped first
begins at 0 again, which both readers take for a restart of the series. And requests counted within the
baseline period before the end of a drain appear in `kvs-gateway usage` only.

Series are capped, because each one costs memory in Prometheus. Requests beyond the cap are counted in a row
whose labels all are `_other`, so totals stay true, and in the overflow counter.

The cap is shared by dynamic thresholds: an app may take another series while it holds at most 3 times as many
as are free, an organization while it holds at most 7 times as many. So one app gets three quarters of all,
one organization seven eighths, and some are always free for others, whatever tables a tenant creates and
deletes. Nothing is reserved, and no row is dropped unseen. Beyond its share an app's rows are idle after
`first_sample_ms` already: by then every server has scraped them.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from cachetools import LRUCache

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.catalogue import OVERFLOW_TENANT, Metric
from gateway.observability.series import (
    FEWEST_SERIES,
    FIRST_SLOT,
    MOST_SERIES,
    REQUEST_BYTES,
    RESPONSE_BYTES,
    Counts,
    UsageRow,
)

OTHER = TenantLabels(OVERFLOW_TENANT, OVERFLOW_TENANT, OVERFLOW_TENANT, OVERFLOW_TENANT)

_ROWS_PER_STEP = 200

_PER_FREE_SERIES_OF_AN_APP = 3
_PER_FREE_SERIES_OF_AN_ORGANIZATION = 7

_Owner = tuple[str, ...]
"""An organization, or an organization and its app."""


class Usage:
    """Usage counters of all tables, at most `max_series` series with `_other` and the overflow count."""

    def __init__(
        self,
        *,
        max_series: int,
        idle_ms: int,
        first_sample_ms: int = 0,
        now_ms: Callable[[], int],
        is_draining: Callable[[], bool] = lambda: False,
    ) -> None:
        self._room = max_series - MOST_SERIES - 1
        self._idle_ms = idle_ms
        self._first_sample_ms = first_sample_ms
        self._idle_beyond_share_ms = min(idle_ms, first_sample_ms or idle_ms)
        self._now_ms = now_ms
        self._is_draining = is_draining
        self._rows: dict[TenantLabels, UsageRow] = {}
        self._counts: dict[TenantLabels, Counts] = {}
        """The rows' counts: the only memory that counting a request touches (D166)."""
        self._dropped: LRUCache[TenantLabels, Counts] = LRUCache(max_series)
        self._held: Counter[_Owner] = Counter()
        """Series by owner."""
        self._other = UsageRow(OTHER)
        self.overflowed = 0

    def count(
        self,
        labels: TenantLabels,
        operation: Operation,
        outcome: UsageOutcome,
        request_bytes: int,
        response_bytes: int,
    ) -> None:
        """Counts one charged request of a table."""
        counts, first = self._counts.get(labels), FIRST_SLOT[operation]
        if counts is None or not counts[first + outcome]:
            counts = self._row_with_room(labels, operation, outcome).counts
        counts[first + outcome] += 1
        counts[first + REQUEST_BYTES] += request_bytes
        counts[first + RESPONSE_BYTES] += response_bytes

    def rows(self) -> list[UsageRow]:
        """Returns all current rows."""
        return [*self._rows.values(), *([self._other] if len(self._other) else [])]

    def text(self, rows: Sequence[UsageRow], metric: Metric) -> str:
        """Renders the samples of one metric in the given rows."""
        now_ms = math.inf if self._is_draining() else self._now_ms()
        return "".join([line for row in rows for line in row.lines(metric, now_ms)])

    async def drop_idle(self) -> None:
        """Drops idle rows, in steps between which other tasks run."""
        rows = list(self._rows.items())
        for start in range(0, len(rows), _ROWS_PER_STEP):
            now_ms = self._now_ms()
            for labels, row in rows[start : start + _ROWS_PER_STEP]:
                idle_ms = self._idle_ms if self._has_share(labels) else self._idle_beyond_share_ms
                if row.is_idle(now_ms, idle_ms):
                    self._dropped[labels] = self._rows.pop(labels).counts
                    self._hold(labels, -len(row))
                    del self._counts[labels]
            await asyncio.sleep(0)

    def _row_with_room(self, labels: TenantLabels, operation: Operation, outcome: UsageOutcome) -> UsageRow:
        """Returns the row in which to count a request, with all the series that it needs."""
        baseline_until_ms = self._now_ms() + self._first_sample_ms
        row, needed = self._rows.get(labels), 0
        has_share = self._has_share(labels)
        if row is None and has_share and self._room >= FEWEST_SERIES:
            row = UsageRow(labels)
            if labels in self._dropped:
                row.restore(self._dropped[labels], baseline_until_ms)
            needed = len(row)
        missing = [] if row is None else row.missing(operation, outcome)
        if row is None or not has_share or self._room < needed + len(missing):
            self.overflowed += 1
            row, missing = self._other, self._other.missing(operation, outcome)
        else:
            self._hold(labels, needed + len(missing))
            self._rows[labels], self._counts[labels] = row, row.counts
            self._dropped.pop(labels, None)
        row.open(missing, baseline_until_ms)
        return row

    def _has_share(self, labels: TenantLabels) -> bool:
        """Returns whether app and organization hold few enough series to take another."""
        return all(self._held[owner] <= factor * self._room for owner, factor in _owners(labels))

    def _hold(self, labels: TenantLabels, series: int) -> None:
        """Moves series from the free ones to the app and its organization, or back if negative."""
        self._room -= series
        for owner, _ in _owners(labels):
            self._held[owner] += series
            if not self._held[owner]:
                del self._held[owner]


def _owners(labels: TenantLabels) -> Iterator[tuple[_Owner, int]]:
    """Yields the owners of a table's series, with the series that each may hold per free one."""
    yield (labels.org, labels.app), _PER_FREE_SERIES_OF_AN_APP
    yield (labels.org,), _PER_FREE_SERIES_OF_AN_ORGANIZATION
