"""Usage per table: plain integers, so that counting costs nanoseconds and rendering is joining text.

While a process lives, no counter falls (D47). Billing relies on it: within a process the difference of
any two samples is what was counted in between, and a first sample is the difference to 0, whether or not
the series was always shown; Prometheus' `increase()` takes a fall for a restart in the same way. So the
counts of a row that is dropped because it is idle are kept, and continue when its table is called again.

Rows are capped, because every series has its price in Prometheus (D46). A call of a table without a row
is counted in a row whose labels all are `_other`: totals stay true, and an overflow counter says how many
calls it were.
"""

from collections.abc import Callable, Iterable, Iterator

from cachetools import LRUCache

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.catalogue import (
    OUTCOME_LABEL,
    OVERFLOW_TENANT,
    USAGE_REQUEST_BYTES,
    USAGE_REQUESTS,
    USAGE_RESPONSE_BYTES,
    Metric,
)

OTHER = TenantLabels(OVERFLOW_TENANT, OVERFLOW_TENANT, OVERFLOW_TENANT, OVERFLOW_TENANT)
METRICS = (USAGE_REQUESTS, USAGE_REQUEST_BYTES, USAGE_RESPONSE_BYTES)

_REQUEST_BYTES = len(UsageOutcome)
_RESPONSE_BYTES = _REQUEST_BYTES + 1
_SLOTS = {
    USAGE_REQUESTS: range(_REQUEST_BYTES),
    USAGE_REQUEST_BYTES: range(_REQUEST_BYTES, _RESPONSE_BYTES),
    USAGE_RESPONSE_BYTES: range(_RESPONSE_BYTES, _RESPONSE_BYTES + 1),
}
"""Where a row keeps the series of a metric, for each operation."""

_SLOT_COUNT = _RESPONSE_BYTES + 1
SERIES_PER_ROW = len(Operation) * _SLOT_COUNT

_DROPPED_PER_ROW = 4
"""So many dropped rows keep their counts for each row that may be shown; others begin at 0 again."""

Counts = dict[Operation, list[int]]


class UsageRow:
    """Counters of one table: per operation one for each outcome, then request and response bytes."""

    __slots__ = ("_series", "counts", "idle_since_ms", "requests_seen")

    def __init__(self, labels: TenantLabels, now_ms: int, counts: Counts | None = None) -> None:
        self.counts = counts or {operation: [0] * _SLOT_COUNT for operation in Operation}
        self.requests_seen = self.requests()
        self.idle_since_ms = now_ms
        self._series = {operation: _series_of(labels, operation) for operation in Operation}

    def requests(self) -> int:
        """All requests of the row."""
        return sum(counts[slot] for counts in self.counts.values() for slot in _SLOTS[USAGE_REQUESTS])

    def lines(self, metric: Metric) -> Iterator[str]:
        """The row's samples of one metric, as text."""
        for operation, series in self._series.items():
            counts = self.counts[operation]
            for slot in _SLOTS[metric]:
                yield f"{series[slot]}{counts[slot]}\n"


class Usage:
    """All rows: at most as many as `max_series` has room for, `_other` and the overflow count included."""

    def __init__(self, *, max_series: int, idle_ms: int, now_ms: Callable[[], int]) -> None:
        self._max_rows = max((max_series - 1) // SERIES_PER_ROW - 1, 0)
        self._idle_ms = idle_ms
        self._now_ms = now_ms
        self._rows: dict[TenantLabels, UsageRow] = {}
        self._dropped: LRUCache[TenantLabels, Counts] = LRUCache(self._max_rows * _DROPPED_PER_ROW)
        self._other: UsageRow | None = None
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
        row = self._rows.get(labels) or self.ensure_row(labels)
        if row is None:
            self.overflowed += 1
            row = self._other = self._other or UsageRow(OTHER, self._now_ms())
        counts = row.counts[operation]
        counts[outcome] += 1
        counts[_REQUEST_BYTES] += request_bytes
        counts[_RESPONSE_BYTES] += response_bytes

    def ensure_row(self, labels: TenantLabels) -> UsageRow | None:
        """The row of a table: created at 0, or restored with its counts; None if there is no room for it."""
        row = self._rows.get(labels)
        if row is None and len(self._rows) < self._max_rows:
            row = self._rows[labels] = UsageRow(labels, self._now_ms(), self._dropped.pop(labels, None))
        return row

    def rows(self) -> list[UsageRow]:
        """Every row there is now."""
        return [*self._rows.values(), *([self._other] if self._other else [])]

    def drop_idle(self) -> None:
        """Drop the rows that have counted nothing for `idle_ms`.

        What a row has counted is compared with what it had at the last call of this method, so that counting
        reads no clock.
        """
        now_ms = self._now_ms()
        for labels, row in list(self._rows.items()):
            requests = row.requests()
            if requests != row.requests_seen:
                row.requests_seen, row.idle_since_ms = requests, now_ms
            elif now_ms - row.idle_since_ms >= self._idle_ms:
                self._dropped[labels] = self._rows.pop(labels).counts


class KnownTables:
    """Gives each table a row once, when the table becomes known: before its first call its series show 0.

    A row that is dropped for idleness is not given again, unless its table is deleted and created anew.
    """

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._known: set[TenantLabels] = set()
        self._listed: set[TenantLabels] = set()

    def update(self, tables: Iterable[TenantLabels]) -> None:
        """Take the list of all tables there are now."""
        self.begin()
        for labels in tables:
            self.note(labels)
        self.end()

    def begin(self) -> None:
        """Begin a list that is long and comes in pieces; no table is forgotten until its end."""
        self._listed = set()

    def note(self, labels: TenantLabels) -> None:
        """A table on the list."""
        if labels not in self._known:
            self._usage.ensure_row(labels)
        self._listed.add(labels)

    def end(self) -> None:
        """All tables were noted."""
        self._known = self._listed


def _series_of(labels: TenantLabels, operation: Operation) -> tuple[str, ...]:
    """What the sample of each slot begins with. Names of tenants hold nothing that would need escaping."""
    tenant = f'org="{labels.org}",app="{labels.app}",env="{labels.env}",table="{labels.table}"'
    own = f'{tenant},operation="{operation}"'
    return (
        *(f'{USAGE_REQUESTS.name}{{{own},{OUTCOME_LABEL}="{outcome.label}"}} ' for outcome in UsageOutcome),
        f"{USAGE_REQUEST_BYTES.name}{{{own}}} ",
        f"{USAGE_RESPONSE_BYTES.name}{{{own}}} ",
    )
