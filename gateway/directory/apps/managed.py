"""The rules for apps that are made through the control plane. Each method is one change of one document."""

from collections.abc import Callable
from secrets import token_hex

from msgspec.structs import replace

from backends.clock import Clock
from backends.interface import RecordStore
from gateway.directory.apps.documents import AppDocuments
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.errors import (
    AppExists,
    AppNotFound,
    AppTypeNotServed,
    TableExists,
    TableLimitReached,
    TableNotFound,
    TooManyTokens,
)
from gateway.directory.records import AppChange, AppRecord, RetiringToken, TableChange, TableRecord
from gateway.directory.tokens import digest_of, new_token
from gateway.domain.model import Environment
from gateway.domain.rules import SUPPORTED_APP_TYPES, unserved_type

_MOST_TOKENS = 8
"""Of one table, valid at a time: each is a copy of the table's rights, and a part of each read of the app."""


class ManagedApps:
    """App environments and their tables in a RecordStore.

    Every method raises BackendError if nothing was changed, and ChangeUnknown if that is not known.
    """

    def __init__(
        self, records: RecordStore, corrupt: CorruptRecords, clock: Clock, default_max_tables: int
    ) -> None:
        self._documents = AppDocuments(records, corrupt, clock)
        self._clock = clock
        self._default_max_tables = default_max_tables

    async def find(self, environment: Environment) -> AppRecord:
        """The app. Raises AppNotFound."""
        return await self._documents.find(environment)

    async def register(self, app: AppRecord, *, only_if_new: bool = False) -> tuple[AppRecord, bool]:
        """Create the app (True), or give an existing one this type and these limits (False), or AppExists."""

        def register(old: AppRecord | None) -> AppRecord:
            if old is None:
                return app
            if only_if_new:
                raise AppExists
            return replace(
                old, type=app.type, requests_per_minute=app.requests_per_minute, max_tables=app.max_tables
            )

        changed = await self._documents.change(app.environment, register)
        return changed.after or app, changed.before is None

    async def change_app(self, environment: Environment, change: AppChange) -> AppRecord:
        """Change of the app what is named."""
        return await self._change(environment, lambda app: replace(app, **change.named))

    async def suspend(self, environment: Environment) -> AppRecord:
        """Refuse all calls of the app until it is resumed."""
        return await self._change(environment, lambda app: replace(app, active=False, suspended=True))

    async def resume(self, environment: Environment) -> AppRecord:
        """Serve the app again."""
        return await self._change(environment, lambda app: replace(app, active=True, suspended=False))

    async def remove(self, environment: Environment) -> None:
        """Remove the app with its tables, even if its record is corrupt. Raises AppNotFound."""
        await self._documents.remove(environment)

    async def create_table(
        self, environment: Environment, name: str, minute_limit: int | None
    ) -> tuple[AppRecord, str]:
        """A new, empty table and its token; the first table activates the app unless it is suspended."""
        token = new_token()
        now_ms = self._clock.wall_ms()
        table = TableRecord(
            id=f"tbl_{token_hex(16)}",
            name=name,
            token_sha256=digest_of(token.encode()).hex(),
            token_last_four=token[-4:],
            minute_limit=minute_limit,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        return await self._change(environment, lambda app: self._with_table(app, table)), token

    async def rotate_table(
        self, environment: Environment, name: str, overlap_seconds: int
    ) -> tuple[AppRecord, str]:
        """A new token for the table; no older one works for longer than `overlap_seconds`."""
        token = new_token()
        now_ms = self._clock.wall_ms()

        def rotate(app: AppRecord) -> AppRecord:
            old = _table(app, name)
            new = replace(
                old,
                token_sha256=digest_of(token.encode()).hex(),
                token_last_four=token[-4:],
                retiring=_retiring(old, now_ms, overlap_seconds),
                updated_at_ms=now_ms,
            )
            if len(new.token_digests) > _MOST_TOKENS:
                raise TooManyTokens(f"valid tokens of the table: {_MOST_TOKENS}, at most {_MOST_TOKENS}")
            return _exchanged(app, old, new)

        return await self._change(environment, rotate), token

    async def change_table(self, environment: Environment, name: str, change: TableChange) -> AppRecord:
        """Change of the table what is named."""
        now_ms = self._clock.wall_ms()

        def change_table(app: AppRecord) -> AppRecord:
            old = _table(app, name)
            return _exchanged(app, old, replace(old, **change.named, updated_at_ms=now_ms))

        return await self._change(environment, change_table)

    async def delete_table(self, environment: Environment, name: str) -> None:
        """Remove the table; its token is void at once, its entries are reclaimed later.

        By id: a table that was created again under the same name meanwhile is another one.
        """
        doomed = _table(await self.find(environment), name)

        def delete(app: AppRecord) -> AppRecord:
            kept = tuple(table for table in app.tables if table.id != doomed.id)
            if len(kept) == len(app.tables):
                raise TableNotFound
            return replace(app, tables=kept)

        await self._change(environment, delete)

    async def _change(self, environment: Environment, make: Callable[[AppRecord], AppRecord]) -> AppRecord:
        """The app after a change that needs one. Raises AppNotFound."""

        def of_one(app: AppRecord | None) -> AppRecord:
            if app is None:
                raise AppNotFound
            return make(app)

        changed = await self._documents.change(environment, of_one)
        if changed.after is None:
            raise AppNotFound
        return changed.after

    def _with_table(self, app: AppRecord, table: TableRecord) -> AppRecord:
        if app.type not in SUPPORTED_APP_TYPES:
            raise AppTypeNotServed(unserved_type(app.type))
        if any(table.name.upper() == other.name.upper() for other in app.tables):
            raise TableExists
        most = self._default_max_tables if app.max_tables is None else app.max_tables
        if len(app.tables) >= most:
            raise TableLimitReached(f"tables of the app environment: {len(app.tables)}, at most {most}")
        return replace(app, tables=(*app.tables, table), active=not app.suspended)


def _table(app: AppRecord, name: str) -> TableRecord:
    table = app.table(name)
    if table is None:
        raise TableNotFound
    return table


def _exchanged(app: AppRecord, old: TableRecord, new: TableRecord) -> AppRecord:
    return replace(app, tables=tuple(new if table is old else table for table in app.tables))


def _retiring(table: TableRecord, now_ms: int, overlap_seconds: int) -> tuple[RetiringToken, ...]:
    """The tokens that still work beside the next one; the overlap bounds earlier, longer ones, too (D35)."""
    ends_at_ms = now_ms + overlap_seconds * 1000
    earlier = (*table.retiring, RetiringToken(table.token_sha256, ends_at_ms))
    ends = ((token.sha256, min(token.valid_until_ms, ends_at_ms)) for token in earlier)
    return tuple(RetiringToken(sha256, end) for sha256, end in ends if end > now_ms)
