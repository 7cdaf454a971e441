"""A ledger as rows, and the reasons why its figures may not be what is to be billed."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from gateway.billing.ledger import Ledger
from gateway.billing.samples import COUNTERS, TENANT
from gateway.observability.catalogue import OVERFLOW_TENANT

_REQUESTS, *_BYTES = COUNTERS.values()


class Report:
    """`outcomes` are those of this version, in their order; those of other versions follow if they occur."""

    def __init__(self, ledger: Ledger, outcomes: Sequence[str]) -> None:
        self._ledger = ledger
        counted = {column for totals in ledger.totals.values() for column in totals}
        others = sorted(counted - {*outcomes, *COUNTERS.values()})
        self._columns = [_REQUESTS, *outcomes, *others, *_BYTES]

    def rows(self) -> list[dict[str, Any]]:
        """One per org, app, env, table and operation, in that order; all have the same columns."""
        return [
            dict(zip(TENANT, tenant, strict=True)) | {column: totals[column] for column in self._columns}
            for tenant, totals in sorted(self._ledger.totals.items())
        ]

    def csv(self) -> str:
        """The rows below a header."""
        text = io.StringIO()
        writer = csv.DictWriter(text, [*TENANT, *self._columns])
        writer.writeheader()
        writer.writerows(self.rows())
        return text.getvalue()

    def warnings(self, *, is_over: bool) -> list[dict[str, object]]:
        """Each with a code and a message; `is_over` tells whether the period is."""
        ledger = self._ledger
        warnings: list[dict[str, object]] = []

        def warn(code: str, message: str, **details: object) -> None:
            warnings.append({"warning": code, "message": message, **details})

        if not is_over:
            warn("not_over", "the period is not over")
        if not ledger.has_samples:
            warn("no_samples", "Prometheus has no usage of the period")
        others = sum(
            totals[_REQUESTS] for tenant, totals in ledger.totals.items() if tenant[0] == OVERFLOW_TENANT
        )
        if others:
            message = "these requests found no series of their own: raise metering.max_series"
            warn("other", message, requests=others)
        if ledger.unsure:
            message = "these series were last seen before the lookback, and count from their first sample on"
            warn("lookback_too_short", message, series=ledger.unsure)
        twice = [targets for targets in ledger.scraped_under.values() if len(targets) > 1]
        if twice:
            names = [[dict(target) for target in targets] for targets in sorted(map(sorted, twice))]
            message = "these processes were scraped under several names: choose one with --match"
            warn("counted_twice", message, targets=names)
        return warnings
