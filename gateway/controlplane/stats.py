"""Counts of a table's entries over HTTP. Paths and fields are contract."""

from backends.clock import Clock
from backends.tables import OldLayout, TableStore
from gateway.controlplane.apps import TABLES
from gateway.controlplane.routing import Action, CallResult, ControlCall, Routes
from gateway.directory.apps.directory import Directory
from gateway.directory.apps.tables import find_table
from gateway.directory.grants import table_of
from gateway.domain.answers import iso_instant
from gateway.domain.errors import TableNeedsUpgrade


class StatsRoutes:
    """Shows how much a table holds. `default_max_bytes` is the storage limit of apps without their own."""

    def __init__(
        self, directory: Directory, tables: TableStore, clock: Clock, default_max_bytes: int | None
    ) -> None:
        self._directory = directory
        self._tables = tables
        self._clock = clock
        self._default_max_bytes = default_max_bytes

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [(TABLES + r"/([^/]+)/stats", {"GET": Action("table.stats", "read", self.show)})]

    async def show(self, call: ControlCall) -> CallResult:
        app = await self._directory.find(call.environment)
        table = table_of(app, find_table(app, call.parts[2]), self._default_max_bytes)
        count = await self._tables.count(table, self._clock.wall_ms())
        if isinstance(count, OldLayout):
            raise TableNeedsUpgrade
        shown = {
            "entries": count.entries,
            "bytes": count.bytes,
            "counted_at": iso_instant(count.counted_at_ms),
            "exact": count.is_exact,
        }
        return CallResult(200, shown)
