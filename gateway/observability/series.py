"""The series of one table: those that it has used, as plain integers with the text that precedes them."""

from array import array
from typing import TypeAlias

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.catalogue import (
    OUTCOME_LABEL,
    USAGE_REQUEST_BYTES,
    USAGE_REQUESTS,
    USAGE_RESPONSE_BYTES,
    Metric,
)

METRICS = (USAGE_REQUESTS, USAGE_REQUEST_BYTES, USAGE_RESPONSE_BYTES)

REQUEST_BYTES = len(UsageOutcome)
RESPONSE_BYTES = REQUEST_BYTES + 1
_SLOTS_PER_OPERATION = RESPONSE_BYTES + 1
FIRST_SLOT = {operation: place * _SLOTS_PER_OPERATION for place, operation in enumerate(Operation)}
"""Where a row keeps the series of an operation: one for each outcome, then request and response bytes."""

FEWEST_SERIES = 3
MOST_SERIES = len(Operation) * _SLOTS_PER_OPERATION
"""Of a table: one operation with one outcome, or each operation with each outcome."""

_SLOTS = {
    USAGE_REQUESTS: [first + outcome for first in FIRST_SLOT.values() for outcome in UsageOutcome],
    USAGE_REQUEST_BYTES: [first + REQUEST_BYTES for first in FIRST_SLOT.values()],
    USAGE_RESPONSE_BYTES: [first + RESPONSE_BYTES for first in FIRST_SLOT.values()],
}

Counts: TypeAlias = "array[int]"
"""The count of each slot; also what is left of a row that is not shown."""

_NOTHING: Counts = array("Q", [0] * MOST_SERIES)


class _Series:
    """How a counter is shown: as what it began with until `stands_until_ms`, whatever is counted."""

    __slots__ = ("_begins_with", "_stands_until_ms", "_text")

    def __init__(self, text: str, begins_with: int, stands_until_ms: float) -> None:
        self._begins_with = begins_with
        self._text = text
        self._stands_until_ms = stands_until_ms

    def line(self, count: int, now_ms: float) -> str:
        """Its sample as a scrape shows it."""
        return f"{self._text}{count if now_ms >= self._stands_until_ms else self._begins_with}\n"


class UsageRow:
    """The series of one table; its `counts` are as `FIRST_SLOT` says."""

    __slots__ = ("_labels", "_series", "_shown", "_shown_since_ms", "_stands_until_ms", "counts")

    def __init__(self, labels: TenantLabels) -> None:
        self.counts = _NOTHING[:]
        self._series: dict[int, _Series] = {}
        self._labels = labels
        self._stands_until_ms = 0.0
        self._shown = 0
        self._shown_since_ms = 0.0

    def __len__(self) -> int:
        return len(self._series)

    @property
    def requests(self) -> int:
        """All that it has counted."""
        return sum([self.counts[slot] for slot in _SLOTS[USAGE_REQUESTS]])

    def missing(self, operation: Operation, outcome: UsageOutcome) -> list[int]:
        """The slots that the first request of this kind has to open."""
        needed = [FIRST_SLOT[operation] + slot for slot in (outcome, REQUEST_BYTES, RESPONSE_BYTES)]
        return [slot for slot in needed if slot not in self._series]

    def open(self, slots: list[int], stands_until_ms: float, kept: Counts = _NOTHING) -> None:
        """Open slots, at 0 or at the count that was kept."""
        self._stands_until_ms = stands_until_ms
        for slot in slots:
            self.counts[slot] = kept[slot]
            self._series[slot] = _Series(_text(self._labels, slot), kept[slot], stands_until_ms)

    def restore(self, kept: Counts, stands_until_ms: float) -> None:
        """Give a new row what another one kept."""
        for operation, first in FIRST_SLOT.items():
            for outcome in UsageOutcome:
                if kept[first + outcome]:
                    self.open(self.missing(operation, outcome), stands_until_ms, kept)

    def lines(self, metric: Metric, now_ms: float) -> list[str]:
        """The samples of one metric, for a scrape, which has then shown the requests that they tell of."""
        if metric is USAGE_REQUESTS and now_ms >= self._stands_until_ms and self.requests != self._shown:
            self._shown, self._shown_since_ms = self.requests, now_ms
        counts, series = self.counts, self._series
        return [series[slot].line(counts[slot], now_ms) for slot in _SLOTS[metric] if slot in series]

    def is_idle(self, now_ms: float, idle_ms: int) -> bool:
        """Whether all that it counted has been shown for so long."""
        return self.requests == self._shown and now_ms - self._shown_since_ms >= idle_ms


def _text(labels: TenantLabels, slot: int) -> str:
    """What the sample of a slot begins with. Names of tenants hold nothing that would need escaping."""
    place, kind = divmod(slot, _SLOTS_PER_OPERATION)
    tenant = f'org="{labels.org}",app="{labels.app}",env="{labels.env}",table="{labels.table}"'
    own = f'{tenant},operation="{list(Operation)[place]}"'
    if kind == REQUEST_BYTES:
        return f"{USAGE_REQUEST_BYTES.name}{{{own}}} "
    if kind == RESPONSE_BYTES:
        return f"{USAGE_RESPONSE_BYTES.name}{{{own}}} "
    return f'{USAGE_REQUESTS.name}{{{own},{OUTCOME_LABEL}="{UsageOutcome(kind).label}"}} '
