"""Changes of the tables in one app document: pure functions from one document to the next."""

from collections.abc import Callable

from msgspec.structs import replace

from gateway.directory.errors import (
    AppTypeNotServed,
    TableExists,
    TableLimitReached,
    TableNotFound,
    TooManyTokens,
)
from gateway.directory.records import AppRecord, RetiringToken, TableRecord
from gateway.directory.tokens import sha256_of
from gateway.domain.rules import SUPPORTED_APP_TYPES, unserved_type

_MAX_TOKENS = 8
"""Maximum of valid tokens of one table: each has all rights of the table, and enlarges the app's document."""


def find_table(app: AppRecord, name: str) -> TableRecord:
    """Returns the table of exactly this name. Raises TableNotFound."""
    table = app.table(name)
    if table is None:
        raise TableNotFound
    return table


def with_table(app: AppRecord, table: TableRecord, default_max_tables: int) -> AppRecord:
    """Adds a table; the first one activates the app unless it is suspended."""
    if app.type not in SUPPORTED_APP_TYPES:
        raise AppTypeNotServed(unserved_type(app.type))
    if any(table.name.upper() == other.name.upper() for other in app.tables):
        raise TableExists
    limit = default_max_tables if app.max_tables is None else app.max_tables
    if len(app.tables) >= limit:
        raise TableLimitReached(f"tables of the app environment: {len(app.tables)}, at most {limit}")
    return replace(app, tables=(*app.tables, table), active=not app.suspended)


def with_new_token(app: AppRecord, name: str, token: str, now_ms: int, overlap_seconds: int) -> AppRecord:
    """Gives a table a new token; its older tokens work for at most `overlap_seconds` more."""

    def rotated(old: TableRecord) -> TableRecord:
        new = replace(
            old,
            token_sha256=sha256_of(token),
            token_last_four=token[-4:],
            retiring=_retiring(old, now_ms, overlap_seconds),
            updated_at_ms=now_ms,
        )
        if len(new.token_digests) > _MAX_TOKENS:
            raise TooManyTokens(f"valid tokens of the table: {_MAX_TOKENS}, at most {_MAX_TOKENS}")
        return new

    return with_changed_table(app, name, rotated)


def with_changed_table(app: AppRecord, name: str, change: Callable[[TableRecord], TableRecord]) -> AppRecord:
    """Replaces a table by the result of `change`. Raises TableNotFound."""
    old = find_table(app, name)
    new = change(old)
    return replace(app, tables=tuple(new if table is old else table for table in app.tables))


def without_table(app: AppRecord, table_id: str) -> AppRecord:
    """Removes a table. Raises TableNotFound."""
    kept = tuple(table for table in app.tables if table.id != table_id)
    if len(kept) == len(app.tables):
        raise TableNotFound
    return replace(app, tables=kept)


def _retiring(table: TableRecord, now_ms: int, overlap_seconds: int) -> tuple[RetiringToken, ...]:
    """Returns the older tokens that still work.

    The overlap also shortens longer overlaps of earlier rotations, so that a rotation without overlap ends
    every older token.
    """
    ends_at_ms = now_ms + overlap_seconds * 1000
    earlier = (*table.retiring, RetiringToken(table.token_sha256, ends_at_ms))
    ends = ((token.sha256, min(token.valid_until_ms, ends_at_ms)) for token in earlier)
    return tuple(RetiringToken(sha256, end) for sha256, end in ends if end > now_ms)
