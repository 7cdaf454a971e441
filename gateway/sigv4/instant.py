"""The moment a request was signed: ISO 8601 basic form, `YYYYMMDDTHHMMSSZ`, in ASCII digits."""

import re
from calendar import timegm
from datetime import UTC, datetime
from functools import lru_cache

from gateway.errors import IncompleteSignature
from gateway.headers import Headers

_BASIC_FORM = re.compile(rb"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z")


def signing_date(headers: Headers) -> bytes:
    """X-Amz-Date, else Date. Raises IncompleteSignature if neither was sent."""
    date = headers.get(b"x-amz-date")
    if date is None:
        date = headers.get(b"date")
    if date is None:
        raise IncompleteSignature(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        )
    return date


@lru_cache(1024)
def epoch_seconds(date: bytes) -> int:
    """Seconds since 1970. Raises IncompleteSignature for anything but an existing moment in basic form."""
    digits = _BASIC_FORM.fullmatch(date)
    if digits is None:
        raise IncompleteSignature("Date must be in ISO-8601 'basic format', YYYYMMDDTHHMMSSZ.")
    try:
        moment = datetime(*map(int, digits.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        raise IncompleteSignature("Date names a moment that does not exist.") from None
    return timegm(moment.utctimetuple())


def basic_form(seconds: int) -> str:
    """The instant in the form in which clients sign it."""
    # strftime writes years before 1000 with fewer than four digits
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ").zfill(16)
