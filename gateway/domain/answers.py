"""Refusals as JSON answers, before they become HTTP responses."""

import re
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gateway.domain.errors import (
    MethodNotAllowed,
    PreconditionFailed,
    RateLimited,
    Refusal,
    SignatureRefusal,
)
from gateway.domain.model import RateLimitStatus, ResponseNotes, UsageOutcome
from gateway.domain.rules import WINDOW_MS


class Answer(Struct, frozen=True, gc=False):
    """A status, a JSON body and header fields. `code` is None for a success."""

    status: int
    body: bytes
    usage: UsageOutcome = UsageOutcome.OK
    code: str | None = None
    fields: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"

    def with_fields(self, *fields: tuple[str, str]) -> "Answer":
        """Returns a copy with `fields` appended."""
        return replace(self, fields=(*self.fields, *fields))


NOT_STORED = ("Cache-Control", "no-store")
"""A field of every answer that contains credentials or data of the control plane."""

_UNIX_ZERO = datetime(1970, 1, 1, tzinfo=UTC)

_INVISIBLE = re.compile("[^ -~]")
LONGEST_TEXT = 256
"""Length of a detail or warning in a header field."""

_USAGE = {
    403: UsageOutcome.ERROR,
    409: UsageOutcome.ERROR,
    412: UsageOutcome.PRECONDITION_FAILED,
    429: UsageOutcome.RATE_LIMITED,
}
"""Billing outcomes of refusals after admission, by status."""


def refuse(refusal: Refusal) -> Answer:
    """Renders a refusal: its code, its message if any, and its detail in a header field."""
    body = {"error": refusal.code}
    fields: list[tuple[str, str]] = []
    if refusal.message is not None:
        body["message"] = refusal.message
    if isinstance(refusal, SignatureRefusal):
        fields.append(("x-amzn-ErrorType", refusal.error_type))
    if isinstance(refusal, MethodNotAllowed):
        fields.append(("Allow", refusal.allowed))
    if isinstance(refusal, PreconditionFailed) and refusal.revision is not None:
        fields += etag_fields(refusal.revision)
    fields.append(("x-kvs-error-detail", _visible(refusal.detail or refusal.message or "")))
    if isinstance(refusal, RateLimited) and refusal.rate_limit is not None:
        fields += _limit_fields(refusal.rate_limit)
    if refusal.retry_after_seconds is not None:
        fields.append(("Retry-After", str(refusal.retry_after_seconds)))
    return Answer(refusal.status, msgspec.json.encode(body), usage_of(refusal), refusal.code, tuple(fields))


def add_notes(answer: Answer, notes: ResponseNotes) -> Answer:
    """Adds the header fields of `notes`, if any."""
    if notes.warning is None and notes.rate_limit is None:
        return answer
    fields = list(answer.fields)
    if notes.warning is not None:
        fields.append(("x-kvs-warning", _visible(notes.warning)))
    if notes.rate_limit is not None:
        fields += _limit_fields(notes.rate_limit)
    return replace(answer, fields=tuple(fields))


def _limit_fields(status: RateLimitStatus) -> list[tuple[str, str]]:
    """Renders `RateLimit` and `RateLimit-Policy` by draft-ietf-httpapi-ratelimit-headers-10."""
    name = f'"{status.owner}"'
    return [
        ("RateLimit", f"{name};r={status.remaining};t={status.closes_in_seconds}"),
        ("RateLimit-Policy", f"{name};q={status.limit};w={WINDOW_MS // 1000}"),
    ]


def _visible(text: str) -> str:
    """Makes text fit into a header field: visible ASCII, at most 256 characters (D168)."""
    return _INVISIBLE.sub("?", text[:LONGEST_TEXT]).strip()


def usage_of(refusal: Refusal) -> UsageOutcome:
    """Returns the billing outcome of a refused call."""
    return UsageOutcome.ERROR if refusal.status >= 500 else _USAGE.get(refusal.status, UsageOutcome.INVALID)


def etag_fields(revision: str) -> tuple[tuple[str, str], ...]:
    """Renders the field `ETag`. Entries in the layout of version 0.2 have no revision, and no field."""
    return (("ETag", f'"{revision}"'),) if revision else ()


def iso_instant(wall_ms: int | None) -> str | None:
    """Formats Unix milliseconds as `2026-11-20T00:00:00.000Z`; None stays None."""
    if wall_ms is None:
        return None
    instant = _UNIX_ZERO + timedelta(milliseconds=wall_ms)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
