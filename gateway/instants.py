"""Instants as JSON shows them: ISO 8601, UTC, milliseconds."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_instant(wall_ms: int | None) -> str | None:
    """`2026-11-20T00:00:00.000Z` for milliseconds since 1970; None stays None."""
    if wall_ms is None:
        return None
    instant = _EPOCH + timedelta(milliseconds=wall_ms)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
