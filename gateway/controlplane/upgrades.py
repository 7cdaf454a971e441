"""Upgrades of tables that an earlier version has created, over HTTP: one call moves entries for a moment."""

from typing import Annotated

from msgspec import Meta

from backends.clock import Clock
from backends.errors import BackendError, StoreFull
from backends.interface import Keyspace
from backends.tables import OldReplicas, Table, TableStore, UpgradeStep
from gateway.controlplane.apps import TABLES
from gateway.controlplane.errors import OldReplicasRunning
from gateway.controlplane.routing import MAX_AUDIT_CHARACTERS, Action, CallResult, ControlCall, Routes
from gateway.directory.apps.directory import Directory
from gateway.directory.apps.tables import find_table
from gateway.directory.grants import home_of
from gateway.domain.errors import StorageUnavailable

_Cursor = Annotated[str, Meta(max_length=512)]

_FAILED = "the store of entries does not answer; nothing is lost: repeat the upgrade, which goes on"
_FULL = "the store is full, and an upgrade keeps entries twice for an hour: give the store more memory"

CALL_MS = 500
"""Time for which one call goes on taking steps."""


class UpgradeRoutes:
    """Moves tables to the newest layout of the store, a part of a table with each call."""

    def __init__(self, directory: Directory, tables: TableStore, clock: Clock) -> None:
        self._directory = directory
        self._tables = tables
        self._clock = clock

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [(TABLES + r"/([^/]+)/upgrade", {"POST": Action("table.upgrade", "tables", self.upgrade)})]

    async def upgrade(self, call: ControlCall) -> CallResult:
        environment, name = call.environment, call.parts[2]
        call.note(table=name[:MAX_AUDIT_CHARACTERS])
        cursor: str | None = call.optional("cursor", _Cursor)
        found = find_table(await self._directory.find(environment), name)
        moved = scanned = 0
        table = Table(home_of(environment), Keyspace(found.id))
        is_over, ends = False, self._clock.monotonic_ms() + CALL_MS
        while not is_over:
            is_first = cursor is None
            step = await self._step(table, cursor)
            cursor, moved, scanned = step.cursor, moved + step.moved, scanned + step.scanned
            # Calls that began before the first step end before the second.
            is_over = is_first or cursor is None or self._clock.monotonic_ms() >= ends
        call.note(moved=moved)
        body = {"done": cursor is None, "moved": moved, "scanned": scanned, "cursor": cursor}
        return CallResult(200, body)

    async def _step(self, table: Table, cursor: str | None) -> UpgradeStep:
        try:
            step = await self._tables.upgrade(table, cursor, self._clock.wall_ms())
        except BackendError as error:
            raise StorageUnavailable(_FULL if isinstance(error, StoreFull) else _FAILED) from error
        if isinstance(step, OldReplicas):
            raise OldReplicasRunning
        return step
