"""A ledger as rows, and warnings about figures that may be wrong."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from gateway.billing.ledger import Ledger
from gateway.billing.samples import COUNTERS, TENANT
from gateway.observability.catalogue import OVERFLOW_TENANT

_REQUESTS, *_BYTES = COUNTERS.values()


class Report:
    """Rows of a ledger. Columns: `outcomes` of this version in order, then those of other versions."""

    def __init__(self, ledger: Ledger, outcomes: Sequence[str]) -> None:
        self._ledger = ledger
        counted = {column for totals in ledger.totals.values() for column in totals}
        others = sorted(counted - {*outcomes, *COUNTERS.values()})
        self._columns = [_REQUESTS, *outcomes, *others, *_BYTES]

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row per org, app, env, table and operation, sorted; all have the same columns."""
        return [
            dict(zip(TENANT, tenant, strict=True)) | {column: totals[column] for column in self._columns}
            for tenant, totals in sorted(self._ledger.totals.items())
        ]

    def csv(self) -> str:
        """Renders the rows below a header."""
        text = io.StringIO()
        writer = csv.DictWriter(text, [*TENANT, *self._columns])
        writer.writeheader()
        writer.writerows(self.rows())
        return text.getvalue()

    def warnings(self, *, is_over: bool) -> list[dict[str, object]]:
        """Returns warnings with code and message; `is_over` is False for a period that still runs."""
        ledger = self._ledger
        warnings: list[dict[str, object]] = []

        def warn(code: str, message: str, **details: object) -> None:
            warnings.append({"warning": code, "message": message, **details})

        if not is_over:
            warn("not_over", "the period has not ended: figures will still rise")
        if not ledger.has_samples:
            warn("no_samples", "Prometheus has no usage samples for this period")
        others = sum(
            totals[_REQUESTS] for tenant, totals in ledger.totals.items() if tenant[0] == OVERFLOW_TENANT
        )
        if others:
            message = "requests counted under _other because of the cap on series: raise metering.max_series"
            warn("other", message, requests=others)
        if ledger.unsure:
            message = (
                "series without a sample in the lookback count from their first sample on: raise --lookback"
            )
            warn("lookback_too_short", message, series=ledger.unsure)
        twice = [targets for targets in ledger.scraped_under.values() if len(targets) > 1]
        if twice:
            names = [[dict(target) for target in targets] for targets in sorted(map(sorted, twice))]
            message = "processes scraped under several names are counted twice: choose one name with --match"
            warn("counted_twice", message, targets=names)
        return warnings
