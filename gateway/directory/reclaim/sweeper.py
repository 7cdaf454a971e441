"""Sweeps all tables regularly, on one replica: expired entries leave the store, and live ones are counted.

Calls sweep the tables that they use, a little each. Without the sweeper a table that nobody calls would keep
its expired entries. A store whose writes do not count counts here, for the storage limit.

The holder of the lease keeps it between its sweeps, and exposes the figures of its last one. If it is lost,
another replica sweeps anew: within an hour every table is swept.
"""

import asyncio
import logging
from contextlib import suppress

from msgspec import Struct

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from backends.paging import all_records
from backends.tables import Table, TableCount, TableStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.grants import tables_of
from gateway.directory.reclaim.lease import RENEWALS, Lease, LeaseLost
from gateway.directory.records import APPS, SWEEPING, AppRecord
from gateway.domain.model import Environment

PERIOD_MS = 2_700_000
SWEEPING_LEASE_MS = 540_000
"""Lost at the worst moment, it delays a sweep by a lease and a look: 12 minutes."""

APPS_PER_SECOND = 200
"""100,000 apps take 9 minutes, and less than a fiftieth of a Redis server."""

LOOK_SECONDS = SWEEPING_LEASE_MS / 1000 / RENEWALS
"""Pause between looks at the lease."""

_MAX_FAILURES = 10
"""Failures in a row after which the store counts as down."""

log = logging.getLogger("kvs.directory")


class StorageUse(Struct, frozen=True, gc=False):
    """The stored bytes and entries of an app environment, and its storage limit."""

    entries: int
    bytes: int
    max_bytes: int


class Sweeper:
    """Sweeps the tables of all apps, one app after the other."""

    def __init__(
        self,
        records: RecordStore,
        tables: TableStore,
        corrupt: CorruptRecords,
        declared: DeclaredApps,
        clock: Clock,
        *,
        default_max_bytes: int | None,
    ) -> None:
        self._records = records
        self._tables = tables
        self._corrupt = corrupt
        self._declared = declared
        self._clock = clock
        self._default_max_bytes = default_max_bytes
        self._lease = Lease(records, corrupt, clock, SWEEPING, SWEEPING_LEASE_MS)
        self._began_ms: int | None = None
        """Begin of the last complete sweep, if this replica made it."""
        self._failures = 0
        self._has_looked = False
        self.used: dict[Environment, StorageUse] = {}
        """Use by app environment with a storage limit, as of this replica's last sweep."""

    async def run(self) -> None:
        """Looks at the lease, and sweeps if this replica holds it and it is time."""
        try:
            await self._round()
        except LeaseLost:
            self._reset()
        except BackendError as error:
            fields = {"cause": type(error).__name__}
            log.warning("sweeping waits for the store", extra={"fields": fields})

    async def _round(self) -> None:
        is_elsewhere, is_first = await self._lease.is_elsewhere(), not self._has_looked
        self._has_looked = True
        if is_first:  # the start of a replica costs the store nothing more
            return
        if is_elsewhere or not await self._lease.take():
            self._reset()
            return
        now_ms = self._clock.monotonic_ms()
        if self._began_ms is None or now_ms - self._began_ms >= PERIOD_MS:
            await self._sweep()
            self._began_ms = now_ms

    def _reset(self) -> None:
        self._began_ms = None
        self.used = {}

    async def _sweep(self) -> None:
        """Sweeps every app. Raises BackendError and LeaseLost."""
        swept: set[Environment] = set()
        self._failures = 0
        async for name, record in all_records(self._records, APPS):
            with suppress(CorruptRecord):
                app = self._corrupt.decode(name, record, AppRecord)
                await self._sweep_app(app)
                swept.add(app.environment)
        for app in self._declared.all():
            await self._sweep_app(app)
            swept.add(app.environment)
        self.used = {environment: use for environment, use in self.used.items() if environment in swept}

    async def _sweep_app(self, app: AppRecord) -> None:
        """Sweeps one app. A part of the store that is down delays only its own."""
        tables = tables_of(app, self._default_max_bytes)
        if not tables:
            self.used.pop(app.environment, None)
            return
        await self._lease.renew_if_due()
        try:
            await self._lease.during(self._tidy(app.environment, tables))
            self._failures = 0
        except BackendError:
            self._failures += 1
            if self._failures == _MAX_FAILURES:
                raise
        await asyncio.sleep(1 / APPS_PER_SECOND)

    async def _tidy(self, environment: Environment, tables: list[Table]) -> None:
        """Tidies the tables of an app, and counts them if it has a storage limit."""
        now_ms, max_bytes = self._clock.wall_ms(), tables[0].max_bytes
        await self._tables.tidy(tables, now_ms)
        if max_bytes is None:
            self.used.pop(environment, None)
            return
        counts = [await self._tables.count(table, now_ms) for table in tables]
        known = [count for count in counts if isinstance(count, TableCount)]
        size = sum(count.bytes for count in known)
        self.used[environment] = StorageUse(sum(count.entries for count in known), size, max_bytes)
