"""`kvs-gateway usage`: the usage of tenants in a period, as JSON or CSV."""

import argparse
import json
import re
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Mapping
from datetime import datetime

from gateway.billing.period import read_period
from gateway.billing.report import Report
from gateway.billing.samples import TooManySamples
from gateway.cli.calling import CommandFailed, Exit, check_text
from gateway.cli.prometheus import PrometheusArchive
from gateway.domain.answers import iso_instant
from gateway.domain.model import UsageOutcome

_LAST_MS = 253_402_300_799_999
"""The end of the year 9999 in UTC."""

_PROGRESS_SECONDS = 2.0

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def run_usage(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """Returns the report; with CSV, warnings go to standard error. Raises CommandFailed."""
    check_text(arguments)
    if arguments.from_ms >= arguments.to_ms:
        raise CommandFailed(Exit.INVALID, "invalid_period", "--from must be before --to")
    now_ms = round(time.time() * 1000)
    archive = PrometheusArchive(arguments.prometheus, environ.get("KVS_PROMETHEUS_TOKEN"), arguments.match)
    try:
        ledger = read_period(
            archive,
            from_ms=arguments.from_ms,
            to_ms=min(arguments.to_ms, now_ms),
            lookback_ms=arguments.lookback_ms,
            progress=_Progress(arguments.from_ms, min(arguments.to_ms, now_ms)),
        )
    except TooManySamples:
        detail = "one second of usage exceeds the limits of Prometheus: select fewer tenants with --match"
        raise CommandFailed(Exit.GENERAL, "too_many_samples", detail) from None
    report = Report(ledger, [outcome.label for outcome in UsageOutcome])
    warnings = report.warnings(is_over=arguments.to_ms <= now_ms)
    if arguments.format == "csv":
        if warnings:
            sys.stderr.write(json.dumps({"warnings": warnings}, indent=2) + "\n")
        return report.csv()
    return json.dumps({**_question(arguments), "rows": report.rows(), "warnings": warnings}, indent=2)


class _Progress:
    """Reports progress on standard error: a line of JSON, at most every two seconds."""

    def __init__(self, from_ms: int, to_ms: int) -> None:
        self._from_ms, self._to_ms = from_ms, to_ms
        self._reported_at = time.monotonic()

    def __call__(self, read_ms: int) -> None:
        now = time.monotonic()
        if now - self._reported_at < _PROGRESS_SECONDS:
            return
        self._reported_at = now
        share = max(read_ms - self._from_ms, 0) / max(self._to_ms - self._from_ms, 1)
        line = {"read_until": iso_instant(read_ms), "share": round(share, 3)}
        sys.stderr.write(json.dumps(line) + "\n")


def _question(arguments: argparse.Namespace) -> dict[str, object]:
    return {
        "from": iso_instant(arguments.from_ms),
        "to": iso_instant(arguments.to_ms),
        "match": arguments.match,
        "lookback_seconds": arguments.lookback_ms // 1000,
    }


def instant_ms(text: str) -> int:
    """Returns the Unix time of an RFC 3339 date-time, or of a date at midnight UTC. Raises ArgumentTypeError.

    Times before 1970 and after 9999 are refused: a period is read hour by hour, so a mistyped year would take
    for ever.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        text += "T00:00:00Z"
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", text):
        raise ArgumentTypeError(f"not a time: {text!r} (examples: 2026-11-01, 2026-11-01T00:00:00Z)")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ArgumentTypeError(f"not a time: {text!r} ({error})") from None
    wall_ms = round(moment.timestamp() * 1000)
    if not 0 <= wall_ms <= _LAST_MS:
        raise ArgumentTypeError(f"not between the years 1970 and 9999: {text!r}")
    return wall_ms


def duration_ms(text: str) -> int:
    """Returns the length of `90s`, `15m`, `12h`, `30d` or `2w`. Raises ArgumentTypeError."""
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if match is None:
        raise ArgumentTypeError(f"not a duration: {text!r} (examples: 90s, 15m, 12h, 30d, 2w)")
    return int(match[1]) * _SECONDS[match[2]] * 1000
