"""The rules of the control plane for apps and tables, declared and managed."""

from collections.abc import Callable
from secrets import token_hex

from msgspec.structs import replace

from backends.clock import Clock
from backends.interface import Record, RecordStore
from gateway.directory.apps.changes import AppDiff, DecodeRecord, DocumentChange, Mutation
from gateway.directory.apps.tables import (
    find_table,
    with_changed_table,
    with_new_token,
    with_table,
    without_table,
)
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.errors import AppExists, AppIsDeclared, AppNotFound, ControlRefusal
from gateway.directory.records import AppChange, AppRecord, TableChange, TableRecord, app_name
from gateway.directory.resolve.bindings import CachedBindings
from gateway.directory.tokens import new_token, sha256_of
from gateway.domain.model import Environment


class Directory:
    """App environments and their tables. A change is in effect on this replica when its call returns.

    Every method raises BackendError if nothing was changed, and ChangeUnknown if that is not known. Methods
    that change an app raise AppIsDeclared for one from the configuration file.
    """

    def __init__(
        self,
        *,
        declared: DeclaredApps,
        records: RecordStore,
        corrupt: CorruptRecords,
        bindings: CachedBindings,
        clock: Clock,
        default_max_tables: int,
    ) -> None:
        self._declared = declared
        self._records = records
        self._corrupt = corrupt
        self._bindings = bindings
        self._clock = clock
        self._default_max_tables = default_max_tables

    def declare(self, apps: DeclaredApps) -> None:
        """Replaces the declared apps."""
        self._declared.exchange(apps)

    async def find(self, environment: Environment) -> AppRecord:
        """Returns the app. Raises AppNotFound."""
        declared = self._declared.find(environment)
        if declared is not None:
            return declared
        name = app_name(environment)
        record = await self._records.read(name)
        if record is None:
            raise AppNotFound
        return self._corrupt.decode(name, record, AppRecord)

    async def register(self, app: AppRecord, *, only_if_new: bool = False) -> tuple[AppRecord, bool]:
        """Creates an app, or sets type and limits of an existing one. Raises AppExists if `only_if_new`.

        Returns the app, and whether it is new.
        """

        def register(old: AppRecord | None) -> AppRecord:
            if old is None:
                return app
            if only_if_new:
                raise AppExists
            return replace(
                old,
                type=app.type,
                requests_per_minute=app.requests_per_minute,
                max_tables=app.max_tables,
                max_bytes=app.max_bytes,
            )

        diff = await self._apply(app.environment, register, self._decode)
        return diff.after or app, diff.before is None

    async def change_app(self, environment: Environment, change: AppChange) -> AppRecord:
        """Updates the given fields of the app. Raises AppNotFound."""
        return await self._change(environment, lambda app: replace(app, **change.named))

    async def suspend(self, environment: Environment) -> AppRecord:
        """Refuses all calls of the app until it is resumed."""
        return await self._change(environment, lambda app: replace(app, active=False, suspended=True))

    async def resume(self, environment: Environment) -> AppRecord:
        """Serves the app again."""
        return await self._change(environment, lambda app: replace(app, active=True, suspended=False))

    async def remove(self, environment: Environment) -> None:
        """Removes the app with its tables, even if its record is corrupt. Raises AppNotFound."""

        def remove(app: AppRecord | None) -> None:
            if app is None:
                raise AppNotFound

        await self._apply(environment, remove, self._corrupt.salvage)

    async def create_table(
        self, environment: Environment, name: str, minute_limit: int | None
    ) -> tuple[AppRecord, str]:
        """Creates an empty table. Returns the app and the table's token."""
        token = new_token()
        now_ms = self._clock.wall_ms()
        table = TableRecord(
            id=f"t2_{token_hex(16)}",  # tbl_ in version 0.2: the prefix names the layout
            name=name,
            token_sha256=sha256_of(token),
            token_last_four=token[-4:],
            minute_limit=minute_limit,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        limit = self._default_max_tables
        return await self._change(environment, lambda app: with_table(app, table, limit)), token

    async def rotate_table(
        self, environment: Environment, name: str, overlap_seconds: int
    ) -> tuple[AppRecord, str]:
        """Gives the table a new token; older ones end after `overlap_seconds`. Returns app and token."""
        token = new_token()
        now_ms = self._clock.wall_ms()
        app = await self._change(
            environment, lambda app: with_new_token(app, name, token, now_ms, overlap_seconds)
        )
        return app, token

    async def change_table(self, environment: Environment, name: str, change: TableChange) -> AppRecord:
        """Updates the given fields of the table. Raises AppNotFound and TableNotFound."""
        fields = {**change.named, "updated_at_ms": self._clock.wall_ms()}
        return await self._change(
            environment, lambda app: with_changed_table(app, name, lambda table: replace(table, **fields))
        )

    async def delete_table(self, environment: Environment, name: str) -> None:
        """Removes the table and voids its tokens; its entries are reclaimed in the background."""
        doomed: str | None = None

        def delete(app: AppRecord) -> AppRecord:
            # Deletes by the id that the first attempt found: after a lost reply, a repetition must not delete
            # a table that was created again under the same name.
            nonlocal doomed
            doomed = doomed or find_table(app, name).id
            return without_table(app, doomed)

        await self._change(environment, delete)

    async def _change(self, environment: Environment, change: Callable[[AppRecord], AppRecord]) -> AppRecord:
        """Changes an existing app. Raises AppNotFound."""

        def change_existing(app: AppRecord | None) -> AppRecord:
            if app is None:
                raise AppNotFound
            return change(app)

        diff = await self._apply(environment, change_existing, self._decode)
        if diff.after is None:
            raise AppNotFound
        return diff.after

    async def _apply(self, environment: Environment, mutation: Mutation, decode: DecodeRecord) -> AppDiff:
        """Makes one change of one document and brings the cache of this replica up to date."""
        if self._declared.find(environment) is not None:
            raise AppIsDeclared
        change = DocumentChange(self._records, environment, decode, mutation, self._clock.boot_seconds)
        try:
            diff = await change.run(self._clock.wall_ms())
        except ControlRefusal:  # nothing was changed
            raise
        except BaseException:  # also a cancellation: the swap may have been applied
            self._bindings.expire(environment)
            raise
        self._bindings.invalidate(environment)
        return diff

    async def _decode(self, name: str, record: Record) -> AppRecord:
        return self._corrupt.decode(name, record, AppRecord)
