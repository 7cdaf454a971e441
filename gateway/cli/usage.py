"""The usage command: what tenants used in a period, as JSON or CSV."""

import argparse
import csv
import io
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from gateway.billing.ledger import Ledger
from gateway.billing.period import read_period
from gateway.billing.samples import COUNTERS, TENANT, TooManySamples
from gateway.cli.exits import CommandFailed, Exit
from gateway.cli.prometheus import PrometheusArchive
from gateway.domain.answers import iso_instant

_OUTCOMES = ("ok", "not_found", "invalid", "rate_limited", "error")
_REQUESTS, *_BYTES = COUNTERS.values()
_OTHER = "_other"


def run_usage(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """The command's output; with CSV, warnings go to standard error. Raises CommandFailed."""
    if arguments.from_ms >= arguments.to_ms:
        raise CommandFailed(Exit.INVALID, "invalid_period", message="--from is not before --to")
    now_ms = round(time.time() * 1000)
    archive = PrometheusArchive(arguments.prometheus, environ.get("KVS_PROMETHEUS_TOKEN"), arguments.match)
    try:
        ledger = read_period(
            archive,
            from_ms=arguments.from_ms,
            to_ms=min(arguments.to_ms, now_ms),
            lookback_ms=arguments.lookback_ms,
        )
    except TooManySamples:
        message = "Prometheus does not load that much even for a second: narrow it down with --match"
        raise CommandFailed(Exit.GENERAL, "too_many_samples", message=message) from None
    rows, warnings = _rows(ledger), _warnings(ledger, is_over=arguments.to_ms <= now_ms)
    if arguments.format == "csv":
        if warnings:
            sys.stderr.write(json.dumps({"warnings": warnings}, indent=2) + "\n")
        return _csv(rows)
    return json.dumps({**_question(arguments), "rows": rows, "warnings": warnings}, indent=2)


def _question(arguments: argparse.Namespace) -> dict[str, object]:
    return {
        "from": iso_instant(arguments.from_ms),
        "to": iso_instant(arguments.to_ms),
        "match": arguments.match,
        "lookback_seconds": arguments.lookback_ms // 1000,
    }


def _rows(ledger: Ledger) -> list[dict[str, Any]]:
    """One per org, app, env, table and operation, in that order; the columns are the same in all of them."""
    columns = [_REQUESTS, *_outcomes(ledger), *_BYTES]
    return [
        dict(zip(TENANT, tenant, strict=True)) | {column: totals[column] for column in columns}
        for tenant, totals in sorted(ledger.totals.items())
    ]


def _outcomes(ledger: Ledger) -> list[str]:
    """Those of this version, and what others have counted."""
    counted = {column for totals in ledger.totals.values() for column in totals}
    return [*_OUTCOMES, *sorted(counted - {*_OUTCOMES, *COUNTERS.values()})]


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    columns = rows[0].keys() if rows else [*TENANT, _REQUESTS, *_OUTCOMES, *_BYTES]
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _warnings(ledger: Ledger, *, is_over: bool) -> list[dict[str, object]]:
    """Why the figures may not be what is to be billed."""
    warnings: list[dict[str, object]] = []

    def warn(code: str, message: str, **details: object) -> None:
        warnings.append({"warning": code, "message": message, **details})

    if not is_over:
        warn("not_over", "the period is not over")
    if not ledger.has_read:
        warn("no_samples", "Prometheus has no usage of the period")
    others = sum(totals[_REQUESTS] for tenant, totals in ledger.totals.items() if tenant[0] == _OTHER)
    if others:
        warn(
            "other", "these requests found no series of their own: raise metering.max_series", requests=others
        )
    if ledger.unsure:
        message = (
            "these series were last shown before the lookback, and are counted from their first sample on"
        )
        warn("lookback_too_short", message, series=ledger.unsure)
    twice = [targets for targets in ledger.read_under.values() if len(targets) > 1]
    if twice:
        names = [[dict(target) for target in targets] for targets in sorted(map(sorted, twice))]
        warn("counted_twice", "these processes were scraped under several names: --match one", targets=names)
    return warnings
