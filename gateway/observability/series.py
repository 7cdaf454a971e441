"""Usage series of one table: plain integers, and the exposition text that precedes each of them."""

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
FIRST_SLOT = {operation: number * _SLOTS_PER_OPERATION for number, operation in enumerate(Operation)}
"""First slot of each operation in a row: one slot per outcome, then request bytes and response bytes."""

FEWEST_SERIES = 3
MOST_SERIES = len(Operation) * _SLOTS_PER_OPERATION
"""Series of one table: at least one operation with one outcome, at most all operations with all outcomes."""

_SLOTS = {
    USAGE_REQUESTS: {first + outcome for first in FIRST_SLOT.values() for outcome in UsageOutcome},
    USAGE_REQUEST_BYTES: {first + REQUEST_BYTES for first in FIRST_SLOT.values()},
    USAGE_RESPONSE_BYTES: {first + RESPONSE_BYTES for first in FIRST_SLOT.values()},
}

Counts: TypeAlias = "array[int]"
"""One count per slot; the only part that a dropped row keeps."""

_NOTHING: Counts = array("Q", [0] * MOST_SERIES)


class _UsageSeries:
    """Exposed counter: it shows its baseline until `baseline_until_ms`, whatever is counted meanwhile."""

    __slots__ = ("_baseline", "_baseline_until_ms", "_text")

    def __init__(self, text: str, baseline: int, baseline_until_ms: float) -> None:
        self._baseline = baseline
        self._text = text
        self._baseline_until_ms = baseline_until_ms

    def line(self, count: int, now_ms: float) -> str:
        """Renders the sample for a scrape."""
        return f"{self._text}{count if now_ms >= self._baseline_until_ms else self._baseline}\n"


class UsageRow:
    """Counters of one table, with `counts` laid out as `FIRST_SLOT` says."""

    __slots__ = ("_baseline_until_ms", "_labels", "_series", "_shown", "_shown_since_ms", "counts")

    def __init__(self, labels: TenantLabels) -> None:
        self.counts = _NOTHING[:]
        self._series: dict[int, _UsageSeries] = {}
        self._labels = labels
        self._baseline_until_ms = 0.0
        self._shown = 0
        self._shown_since_ms = 0.0

    def __len__(self) -> int:
        return len(self._series)

    @property
    def requests(self) -> int:
        """Number of requests counted."""
        return sum([self.counts[slot] for slot in self._series if slot in _SLOTS[USAGE_REQUESTS]])

    def missing(self, operation: Operation, outcome: UsageOutcome) -> list[int]:
        """Returns the slots that the first request of this kind must open."""
        needed = [FIRST_SLOT[operation] + slot for slot in (outcome, REQUEST_BYTES, RESPONSE_BYTES)]
        return [slot for slot in needed if slot not in self._series]

    def open(self, slots: list[int], baseline_until_ms: float, kept: Counts = _NOTHING) -> None:
        """Opens slots with a baseline of 0, or of the kept count."""
        self._baseline_until_ms = baseline_until_ms
        for slot in slots:
            self.counts[slot] = kept[slot]
            self._series[slot] = _UsageSeries(_text(self._labels, slot), kept[slot], baseline_until_ms)

    def restore(self, kept: Counts, baseline_until_ms: float) -> None:
        """Continues from the counts of a dropped row."""
        for operation, first in FIRST_SLOT.items():
            for outcome in UsageOutcome:
                if kept[first + outcome]:
                    self.open(self.missing(operation, outcome), baseline_until_ms, kept)

    def lines(self, metric: Metric, now_ms: float) -> list[str]:
        """Renders the samples of one metric for a scrape."""
        # The idle time counts from the scrape that first showed the latest request count. During the baseline
        # period a scrape shows less than was counted, so it does not count as having shown the row; else the
        # row could be dropped with requests that no server has seen.
        if metric is USAGE_REQUESTS and now_ms >= self._baseline_until_ms and self.requests != self._shown:
            self._shown, self._shown_since_ms = self.requests, now_ms
        counts, slots = self.counts, _SLOTS[metric]
        return [series.line(counts[slot], now_ms) for slot, series in self._series.items() if slot in slots]

    def is_idle(self, now_ms: float, idle_ms: int) -> bool:
        """Returns True if all counted requests have been exposed for `idle_ms`."""
        return self.requests == self._shown and now_ms - self._shown_since_ms >= idle_ms


def _text(labels: TenantLabels, slot: int) -> str:
    """Renders name and labels of a slot's sample. Tenants' names hold no character that needs escaping."""
    number, kind = divmod(slot, _SLOTS_PER_OPERATION)
    tenant = f'org="{labels.org}",app="{labels.app}",env="{labels.env}",table="{labels.table}"'
    own = f'{tenant},operation="{list(Operation)[number]}"'
    if kind == REQUEST_BYTES:
        return f"{USAGE_REQUEST_BYTES.name}{{{own}}} "
    if kind == RESPONSE_BYTES:
        return f"{USAGE_RESPONSE_BYTES.name}{{{own}}} "
    return f'{USAGE_REQUESTS.name}{{{own},{OUTCOME_LABEL}="{UsageOutcome(kind).label}"}} '
