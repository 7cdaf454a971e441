"""Apps made through the control plane. Each change is one compare-and-swap on the app's document.

Records that only help (token pointers, reclaim intents) are written before the
swap that makes them true and removed after the swap that makes them useless, so
a crash in between leaves at most a record that means nothing.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from secrets import token_hex

import msgspec

from backends.clock import Clock
from backends.errors import BackendUnavailable
from backends.interface import Record, RecordStore
from gateway.directory.records import (
    APPS,
    AppRecord,
    ReclaimRecord,
    RetiringToken,
    TableRecord,
    TokenRecord,
    app_name,
    decode,
    encode,
    reclaim_name,
    token_name,
)
from gateway.directory.tokens import digest_of, new_token
from gateway.domain.errors import (
    AppNotFound,
    AppTypeNotServed,
    TableExists,
    TableLimitReached,
    TableNotFound,
)
from gateway.domain.model import Environment
from gateway.domain.rules import SUPPORTED_APP_TYPES

_ATTEMPTS = 100
_MAX_PAUSE_SECONDS = 0.02

Change = Callable[[AppRecord], AppRecord]


class ManagedApps:
    """App environments and their tables in a RecordStore."""

    def __init__(self, records: RecordStore, clock: Clock, default_max_tables: int) -> None:
        self._records = records
        self._clock = clock
        self._default_max_tables = default_max_tables

    async def find(self, environment: Environment) -> AppRecord:
        """Raises AppNotFound."""
        return (await self._read(environment))[0]

    async def all(self, org: str | None = None) -> AsyncIterator[AppRecord]:
        """Every app environment, of one organization if named."""
        async for _, record in self._records.list(APPS if org is None else f"{APPS}{org}/"):
            yield decode(record, AppRecord)

    async def register(self, app: AppRecord) -> bool:
        """Create the app (True), or give an existing one this type and these limits (False)."""
        for pause_seconds in _pauses():
            if await self._records.swap(app_name(app.environment), encode(app), None):
                return True
            try:
                await self._change(app.environment, lambda old: _with_settings_of(old, app))
            except AppNotFound:
                await asyncio.sleep(pause_seconds)
            else:
                return False
        raise BackendUnavailable("the app record keeps changing")

    async def suspend(self, environment: Environment) -> AppRecord:
        """Refuse all calls of the app until it is resumed."""
        return await self._change(
            environment, lambda app: msgspec.structs.replace(app, active=False, suspended=True)
        )

    async def resume(self, environment: Environment) -> AppRecord:
        """Serve the app again."""
        return await self._change(
            environment, lambda app: msgspec.structs.replace(app, active=True, suspended=False)
        )

    async def remove(self, environment: Environment) -> AppRecord:
        """Remove the app with its tables; returns what it was."""
        for pause_seconds in _pauses():
            app, version = await self._read(environment)
            for table in app.tables:
                await self._announce_reclaim(environment, table)
            if await self._records.swap(app_name(environment), None, version):
                for table in app.tables:
                    await self._drop_tokens(table)
                return app
            await asyncio.sleep(pause_seconds)
        raise BackendUnavailable("the app record keeps changing")

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
        return await self._change_token(
            environment, table.token_sha256, lambda app: self._add(app, table)
        ), token

    async def rotate_table(
        self, environment: Environment, name: str, overlap_seconds: int
    ) -> tuple[AppRecord, str]:
        """A new token for the table; no older one works for longer than `overlap_seconds`."""
        token = new_token()
        sha256 = digest_of(token.encode()).hex()
        now_ms = self._clock.wall_ms()

        def rotate(app: AppRecord) -> AppRecord:
            old = _table(app, name)
            new = msgspec.structs.replace(
                old,
                token_sha256=sha256,
                token_last_four=token[-4:],
                retiring=_retiring(old, now_ms, overlap_seconds),
                updated_at_ms=now_ms,
            )
            return _with_tables(app, tuple(new if table is old else table for table in app.tables))

        before = _table(await self.find(environment), name)
        app = await self._change_token(environment, sha256, rotate)
        await self._drop_tokens(before, kept=_table(app, name))
        return app, token

    async def delete_table(self, environment: Environment, name: str) -> None:
        """Remove the table; its token is void at once, its entries are reclaimed later."""
        doomed = _table(await self.find(environment), name)
        await self._announce_reclaim(environment, doomed)

        def delete(app: AppRecord) -> AppRecord:
            if all(table.id != doomed.id for table in app.tables):
                raise TableNotFound
            return _with_tables(app, tuple(table for table in app.tables if table.id != doomed.id))

        await self._change(environment, delete)
        await self._drop_tokens(doomed)

    def _add(self, app: AppRecord, table: TableRecord) -> AppRecord:
        if app.type not in SUPPORTED_APP_TYPES:
            raise AppTypeNotServed
        if any(table.name.upper() == other.name.upper() for other in app.tables):
            raise TableExists
        if len(app.tables) >= (self._default_max_tables if app.max_tables is None else app.max_tables):
            raise TableLimitReached
        return msgspec.structs.replace(app, tables=(*app.tables, table), active=not app.suspended)

    async def _change(self, environment: Environment, change: Change) -> AppRecord:
        for pause_seconds in _pauses():
            app, version = await self._read(environment)
            changed = change(app)
            if await self._records.swap(app_name(environment), encode(changed), version):
                return changed
            await asyncio.sleep(pause_seconds)
        raise BackendUnavailable("the app record keeps changing")

    async def _change_token(self, environment: Environment, sha256: str, change: Change) -> AppRecord:
        """A change that makes a new token true: its pointer is there before, and gone if the change fails."""
        name = token_name(sha256)
        await self.find(environment)
        await self._records.swap(name, encode(TokenRecord(environment)), None)
        try:
            return await self._change(environment, change)
        except Exception:
            await self._drop(name)
            raise

    async def _read(self, environment: Environment) -> tuple[AppRecord, str]:
        record = await self._records.read(app_name(environment))
        if record is None:
            raise AppNotFound
        return decode(record, AppRecord), record.version

    async def _announce_reclaim(self, environment: Environment, table: TableRecord) -> None:
        """Write the intent anew if it is there, so that a reclaimer that found the table alive keeps it."""
        name = reclaim_name(table.id)
        for pause_seconds in _pauses():
            earlier = await self._records.read(name)
            intent = encode(ReclaimRecord(environment, self._clock.wall_ms()))
            if await self._records.swap(name, intent, None if earlier is None else earlier.version):
                return
            await asyncio.sleep(pause_seconds)
        raise BackendUnavailable("the reclaim record keeps changing")

    async def _drop_tokens(self, table: TableRecord, kept: TableRecord | None = None) -> None:
        still = set() if kept is None else _token_digests(kept)
        for sha256 in _token_digests(table) - still:
            await self._drop(token_name(sha256))

    async def _drop(self, name: str) -> None:
        record: Record | None = await self._records.read(name)
        if record is not None:
            await self._records.swap(name, None, record.version)


def _with_settings_of(old: AppRecord, new: AppRecord) -> AppRecord:
    return msgspec.structs.replace(
        old, type=new.type, requests_per_minute=new.requests_per_minute, max_tables=new.max_tables
    )


def _with_tables(app: AppRecord, tables: tuple[TableRecord, ...]) -> AppRecord:
    return msgspec.structs.replace(app, tables=tables)


def _table(app: AppRecord, name: str) -> TableRecord:
    table = app.table(name)
    if table is None:
        raise TableNotFound
    return table


def _retiring(table: TableRecord, now_ms: int, overlap_seconds: int) -> tuple[RetiringToken, ...]:
    """The tokens that still work beside the next one; a rotation without overlap ends them all."""
    ends_at_ms = now_ms + overlap_seconds * 1000
    earlier = (*table.retiring, RetiringToken(table.token_sha256, ends_at_ms))
    ends = ((token.sha256, min(token.valid_until_ms, ends_at_ms)) for token in earlier)
    return tuple(RetiringToken(sha256, end) for sha256, end in ends if end > now_ms)


def _token_digests(table: TableRecord) -> set[str]:
    return {table.token_sha256, *(token.sha256 for token in table.retiring)}


def _pauses() -> list[float]:
    """Waits between attempts, random so that writers that lost together do not meet again."""
    return [random.uniform(0, _MAX_PAUSE_SECONDS) for _ in range(_ATTEMPTS)]  # noqa: S311 - no secret
