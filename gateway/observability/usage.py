"""Usage per table: plain integers, so that counting costs nanoseconds and rendering is joining text.

Who reads is Prometheus: `increase()` of a series is the sum of its rises, in which its first sample is no
rise; `kvs-gateway usage` takes the first sample of a process' series for a rise from 0. Every request has to
be in exactly one rise of both, although only what is used has a series and any number of Prometheus servers
scrape whenever they like. So (D152, D153):

- Nothing is shown before the first request. A series then stands at 0 for `first_sample_ms`, which is at
  least a scrape interval: each server reads it once at 0, and its first requests are the next rise. What is
  counted in the meantime is kept back in what is shown, never in what is counted.
- While a process lives no counter falls. A row that is dropped because it is idle keeps its counts. When its
  table is called again, its series stand at these counts as others stand at 0: the same rise follows.
- A row is dropped only when a scrape has shown all that it counted, `idle_ms` later: no request leaves
  without having been seen. Where nobody scrapes, nothing is dropped.
- In a drain nothing is kept back: the last scrape shows every request.

Two limits are left. As many dropped rows keep their counts as series may be shown; the table that was called
longest ago begins again at 0, which both readers take for a restart of its series, as they read it at 0. And
what a series counted first, less than a scrape interval before a drain ends, is in `kvs-gateway usage` alone.

Series are capped, because every one has its price in Prometheus (D46). A request that needs a series for
which there is no room is counted in a row whose labels all are `_other`: totals stay true, and an overflow
counter says how many requests it were.
"""

import asyncio
import math
from collections.abc import Callable, Sequence

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


class Usage:
    """All rows: with at most `max_series` series, all of `_other` and the overflow count included."""

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
        self._now_ms = now_ms
        self._is_draining = is_draining
        self._rows: dict[TenantLabels, UsageRow] = {}
        self._counts: dict[TenantLabels, Counts] = {}
        """Of the rows: all that counting a request has to touch (D166)."""
        self._dropped: LRUCache[TenantLabels, Counts] = LRUCache(max_series)
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
        """Count one charged request of a table."""
        counts, first = self._counts.get(labels), FIRST_SLOT[operation]
        if counts is None or not counts[first + outcome]:
            counts = self._row_with_room(labels, operation, outcome).counts
        counts[first + outcome] += 1
        counts[first + REQUEST_BYTES] += request_bytes
        counts[first + RESPONSE_BYTES] += response_bytes

    def rows(self) -> list[UsageRow]:
        """Every row there is now."""
        return [*self._rows.values(), *([self._other] if len(self._other) else [])]

    def text(self, rows: Sequence[UsageRow], metric: Metric) -> str:
        """The samples of a metric in some rows, for a scrape."""
        now_ms = math.inf if self._is_draining() else self._now_ms()
        return "".join([line for row in rows for line in row.lines(metric, now_ms)])

    async def drop_idle(self) -> None:
        """Drop the rows that have shown all they counted for `idle_ms`, in steps that let others run."""
        rows = list(self._rows.items())
        for start in range(0, len(rows), _ROWS_PER_STEP):
            now_ms = self._now_ms()
            for labels, row in rows[start : start + _ROWS_PER_STEP]:
                if row.is_idle(now_ms, self._idle_ms):
                    self._dropped[labels] = self._rows.pop(labels).counts
                    self._room += len(row)
                    del self._counts[labels]
            await asyncio.sleep(0)

    def _row_with_room(self, labels: TenantLabels, operation: Operation, outcome: UsageOutcome) -> UsageRow:
        """The row in which the request is counted, with all series that it needs."""
        stands_until_ms = self._now_ms() + self._first_sample_ms
        row, room = self._rows.get(labels), self._room
        if row is None and room >= FEWEST_SERIES:
            row = UsageRow(labels)
            if labels in self._dropped:
                row.restore(self._dropped[labels], stands_until_ms)
            room -= len(row)
        missing = [] if row is None else row.missing(operation, outcome)
        if row is None or room < len(missing):
            self.overflowed += 1
            row, missing = self._other, self._other.missing(operation, outcome)
        else:
            self._room = room - len(missing)
            self._rows[labels], self._counts[labels] = row, row.counts
            self._dropped.pop(labels, None)
        row.open(missing, stands_until_ms)
        return row
