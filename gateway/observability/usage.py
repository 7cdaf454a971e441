"""Usage per table: plain integers, so that counting costs nanoseconds and rendering is joining text.

A row is all 21 series of one table. Rows are capped; what finds no row of its
own is counted in one `_other` row, so that totals stay true. A row that is dropped
keeps its counts and comes back with them: while a process lives, no counter falls.
"""

from collections.abc import Callable, Iterable, Iterator

from cachetools import LRUCache

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.catalogue import (
    USAGE_REQUEST_BYTES,
    USAGE_REQUESTS,
    USAGE_RESPONSE_BYTES,
    Metric,
)

OTHER = TenantLabels("_other", "_other", "_other", "_other")

METRICS = (USAGE_REQUESTS, USAGE_REQUEST_BYTES, USAGE_RESPONSE_BYTES)
_OUTCOMES = len(UsageOutcome)
_SLOTS = _OUTCOMES + 2
SERIES_PER_ROW = len(Operation) * _SLOTS
_RESTING_PER_ROW = 4
"""So many dropped rows are remembered for each that may be shown; the longest forgotten begin at 0 again."""

Counts = dict[Operation, list[int]]


class UsageRow:
    """Counters of one table: per operation one for each outcome, then request and response bytes."""

    __slots__ = ("_prefixes", "counts", "idle_since_ms", "requests_seen")

    def __init__(self, labels: TenantLabels, now_ms: int, counts: Counts | None = None) -> None:
        self.counts = counts or {operation: [0] * _SLOTS for operation in Operation}
        self.requests_seen = self.requests()
        self.idle_since_ms = now_ms
        tenant = f'org="{labels.org}",app="{labels.app}",env="{labels.env}",table="{labels.table}"'
        self._prefixes = {
            operation: (
                *(
                    f'{USAGE_REQUESTS.name}{{{tenant},operation="{operation}",outcome="{o.label}"}} '
                    for o in UsageOutcome
                ),
                f'{USAGE_REQUEST_BYTES.name}{{{tenant},operation="{operation}"}} ',
                f'{USAGE_RESPONSE_BYTES.name}{{{tenant},operation="{operation}"}} ',
            )
            for operation in Operation
        }

    def requests(self) -> int:
        """All requests of the row."""
        return sum(sum(counts[:_OUTCOMES]) for counts in self.counts.values())

    def lines(self, metric: Metric) -> Iterator[str]:
        """The row's samples of one metric."""
        first, last = {
            USAGE_REQUESTS: (0, _OUTCOMES),
            USAGE_REQUEST_BYTES: (_OUTCOMES, _OUTCOMES + 1),
            USAGE_RESPONSE_BYTES: (_OUTCOMES + 1, _SLOTS),
        }[metric]
        for operation, prefixes in self._prefixes.items():
            counts = self.counts[operation]
            for slot in range(first, last):
                yield f"{prefixes[slot]}{counts[slot]}\n"


class Usage:
    """All rows: at most as many as `max_series` has room for, `_other` and the overflow count included."""

    def __init__(self, *, max_series: int, idle_ms: int, now_ms: Callable[[], int]) -> None:
        self._max_rows = max((max_series - 1) // SERIES_PER_ROW - 1, 0)
        self._idle_ms = idle_ms
        self._now_ms = now_ms
        self._rows: dict[TenantLabels, UsageRow] = {}
        self._resting: LRUCache[TenantLabels, Counts] = LRUCache(self._max_rows * _RESTING_PER_ROW)
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
        row = self._rows.get(labels) or self.stand(labels)
        if row is None:
            self.overflowed += 1
            row = self._other = self._other or UsageRow(OTHER, self._now_ms())
        counts = row.counts[operation]
        counts[outcome] += 1
        counts[_OUTCOMES] += request_bytes
        counts[_OUTCOMES + 1] += response_bytes

    def stand(self, labels: TenantLabels) -> UsageRow | None:
        """Let a table's series stand, where they were or at 0 if they are new; None if there is no room."""
        row = self._rows.get(labels)
        if row is None and len(self._rows) < self._max_rows:
            row = self._rows[labels] = UsageRow(labels, self._now_ms(), self._resting.pop(labels, None))
        return row

    def rows(self) -> list[UsageRow]:
        """Every row there is now."""
        return [*self._rows.values(), *([self._other] if self._other else [])]

    def drop_idle(self) -> None:
        """Drop the rows that have counted nothing for `idle_ms`, as seen by the calls of this method."""
        now_ms = self._now_ms()
        for labels, row in list(self._rows.items()):
            requests = row.requests()
            if requests != row.requests_seen:
                row.requests_seen, row.idle_since_ms = requests, now_ms
            elif now_ms - row.idle_since_ms >= self._idle_ms:
                self._resting[labels] = self._rows.pop(labels).counts


class KnownTables:
    """Lets the series of each table stand once, when the table becomes known; idle ones may go again."""

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
        """The same in pieces, for a list that is long: nothing is forgotten until its end."""
        self._listed = set()

    def note(self, labels: TenantLabels) -> None:
        """A table on the list."""
        if labels not in self._known:
            self._usage.stand(labels)
        self._listed.add(labels)

    def end(self) -> None:
        """All tables were noted."""
        self._known = self._listed
