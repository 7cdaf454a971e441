"""Moments and durations as people write them, in milliseconds."""

import re
from argparse import ArgumentTypeError
from datetime import datetime

_LAST_MS = 253_402_300_799_999
"""The end of the year 9999 in UTC."""

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def instant_ms(text: str) -> int:
    """Unix time of an RFC 3339 date-time, or of the beginning of a date in UTC. Raises ArgumentTypeError.

    Nothing was counted before 1970, and to go through it hour by hour takes hours.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        text += "T00:00:00Z"
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", text):
        raise ArgumentTypeError(f"not a time: {text!r} (2026-11-01 or 2026-11-01T00:00:00Z)")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ArgumentTypeError(f"not a time: {text!r} ({error})") from None
    wall_ms = round(moment.timestamp() * 1000)
    if not 0 <= wall_ms <= _LAST_MS:
        raise ArgumentTypeError(f"not a time between 1970 and 9999: {text!r}")
    return wall_ms


def duration_ms(text: str) -> int:
    """The length of `90s`, `15m`, `12h`, `30d` or `2w`. Raises ArgumentTypeError."""
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if match is None:
        raise ArgumentTypeError(f"not a duration: {text!r} (90s, 15m, 12h, 30d, 2w)")
    return int(match[1]) * _SECONDS[match[2]] * 1000
