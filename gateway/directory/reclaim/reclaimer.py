"""Gives back the space of deleted tables in the background, on one replica at a time.

The holder of the lease drops all tables whose intents are due, many in one call. The lease is renewed
meanwhile, however long the store takes. Dropping a table again is harmless, so a replica that takes over
begins anew.

At rest nothing is read: the feed of changes announces a new intent (`FeedFollower.wake_on_intent`).
"""

import logging
from collections.abc import Collection

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from backends.tables import TableStore
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.reclaim.intents import Intents, Pending
from gateway.directory.reclaim.lease import LEASE_MS, Lease, LeaseLost
from gateway.directory.records import LEASE
from gateway.directory.retention import CacheRetention

TABLES_AT_ONCE = 500
"""A store that has to look for entries looks once for so many tables."""

_ROUND_SECONDS = 15.0
_LEASE_SECONDS = LEASE_MS / 1000
_POLL_SECONDS = 3600.0
"""Pause without an announcement: versions without a feed wrote intents and did not announce them."""

_RETRY_MS = 60_000
"""Age of a failure from which its table is tried again."""

log = logging.getLogger("kvs.directory")


class Reclaimer:
    """Drops tables that no app has any more."""

    def __init__(
        self,
        records: RecordStore,
        tables: TableStore,
        corrupt: CorruptRecords,
        retention: CacheRetention,
        clock: Clock,
    ) -> None:
        self._tables = tables
        self._now_ms = clock.monotonic_ms
        self._intents = Intents(records, corrupt, retention, clock)
        self._lease = Lease(records, corrupt, clock, LEASE)
        self._failed_ms: dict[str, int] = {}
        """Intents whose table could not be dropped, and since when."""
        self.pause_seconds = 0.0
        """Pause until the next round, unless a new intent is announced before."""
        self.dropped = 0
        """Drops of tables that this replica completed; most tables are dropped twice."""

    @property
    def pending(self) -> int:
        """Deleted tables whose space is not given back completely, if this replica reclaims."""
        return len(self._intents)

    async def run(self) -> None:
        """Makes one round: drops every table that is due."""
        self.pause_seconds = _ROUND_SECONDS
        failures: list[BackendError] = []
        try:
            self.pause_seconds = await self._round(failures)
            failures += self._intents.failures
        except LeaseLost:
            self._reset()
            self.pause_seconds = _LEASE_SECONDS
        except BackendError as error:
            failures.append(error)
        if failures:
            fields = {"failures": len(failures), "cause": type(failures[0]).__name__}
            log.warning("reclaiming waits for the store", extra={"fields": fields})

    async def _round(self, failures: list[BackendError]) -> float:
        """Makes one round and returns the pause after it, in seconds. Raises BackendError and LeaseLost."""
        # The order of these checks keeps an idle region cheap: every other replica reads only the lease, and
        # without intents the last holder removes its lease and sleeps.
        if await self._lease.is_elsewhere():
            self._reset()
            return _LEASE_SECONDS
        if not await self._intents.any():
            self._reset()
            await self._lease.release()
            return _POLL_SECONDS
        if not await self._lease.take():
            return _LEASE_SECONDS
        while due := await self._intents.due(TABLES_AT_ONCE, waiting=self._waiting()):
            # Another replica may have taken over during a pause of this process; nothing is dropped then.
            await self._lease.renew()
            await self._drop_all(due, failures)
        return _ROUND_SECONDS

    def _reset(self) -> None:
        self._intents.reset()
        self._failed_ms.clear()

    def _waiting(self) -> Collection[str]:
        """Returns the intents whose table failed recently."""
        since_ms = self._now_ms() - _RETRY_MS
        self._failed_ms = {name: at_ms for name, at_ms in self._failed_ms.items() if at_ms > since_ms}
        return self._failed_ms.keys()

    async def _drop_all(self, due: dict[str, Pending], failures: list[BackendError]) -> None:
        """Drops tables in one call, or one by one if that fails: a part that is down delays only its own.

        After a slow attempt the others wait for the next call.
        """
        if await self._is_dropped(due, failures):
            return
        began_ms = self._now_ms()
        for name, pending in due.items():
            if len(due) == 1 or not await self._is_dropped({name: pending}, failures):
                self._failed_ms[name] = self._now_ms()
            if self._now_ms() - began_ms >= _RETRY_MS:
                return

    async def _is_dropped(self, due: dict[str, Pending], failures: list[BackendError]) -> bool:
        """Drops tables, and notes that in their intents. Returns False if the store fails."""
        try:
            await self._lease.during(self._tables.drop([pending.table for pending in due.values()]))
        except BackendError as error:
            failures.append(error)
            return False
        self.dropped += len(due)
        for name, pending in due.items():
            await self._intents.note_purged(name, pending.version)
        return True
