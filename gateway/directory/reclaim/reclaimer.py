"""Gives back the space of deleted tables in the background, on one replica at a time.

The holder of the lease makes one purge run through the store for all tables whose intents are due (D161).
Tables that are deleted meanwhile join the next run. Each step of a run is small, and a pause after it bounds
the commands per second. The lease keeps the progress of the run, so that the next holder continues it.

At rest nothing is read: the feed of changes announces a new intent (`FeedFollower.wake_on_intent`).
"""

import asyncio
import logging

from msgspec.structs import replace

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import EntryStore, Keyspace, RecordStore
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.reclaim.intents import Intents
from gateway.directory.reclaim.lease import LEASE_MS, Lease
from gateway.directory.records import RECLAIMS, PurgeRun
from gateway.directory.retention import CacheRetention

COMMANDS_PER_SECOND = 1000
"""One hundredth of a Redis server's capacity, and one quarter of a new DynamoDB table's."""

KEYS_PER_SECOND = 50_000
"""A scanned key costs Redis and this event loop little. 10 million foreign keys take 200
s."""

TABLES_PER_RUN = 500
"""The lease names them all: 42 KB of the 400 KB that an item of DynamoDB may have."""

_ROUND_SECONDS = 15.0
_LEASE_SECONDS = LEASE_MS / 1000
_POLL_SECONDS = 3600.0
"""Pause without an announcement: versions without a feed wrote intents and did not announce them."""

log = logging.getLogger("kvs.directory")


class Reclaimer:
    """Purges the keyspaces of tables that no app has any more."""

    def __init__(
        self,
        records: RecordStore,
        entries: EntryStore,
        corrupt: CorruptRecords,
        retention: CacheRetention,
        clock: Clock,
    ) -> None:
        self._entries = entries
        self._intents = Intents(records, corrupt, retention, clock)
        self._lease = Lease(records, corrupt, clock)
        self._stalled: dict[str, BackendError] = {}
        """Intents whose run failed, with the error. A later round repeats them once another run succeeds."""
        self.pause_seconds = 0.0
        """Pause until the next round, unless a new intent is announced before."""
        self.scanned = 0
        """Keys scanned."""
        self.deleted = 0
        """Entries removed."""

    @property
    def pending(self) -> int:
        """Deleted tables whose space is not given back completely, if this replica reclaims."""
        return len(self._intents)

    async def run(self) -> None:
        """Makes one round: every purge run that is due. The next round repeats the run that failed last."""
        self.pause_seconds = _ROUND_SECONDS
        try:
            self.pause_seconds = await self._round()
            for name in self._stalled:
                await self._intents.note_stalled(name)
                await _pace(commands=1)
            failures = [*self._intents.failures, *self._stalled.values()]
        except BackendError as error:
            failures = [error]
        if failures:
            fields = {"failures": len(failures), "cause": type(failures[0]).__name__}
            log.warning("reclaiming waits for the store", extra={"fields": fields})

    async def _round(self) -> float:
        """Makes one round and returns the pause after it, in seconds. Raises BackendError."""
        # The order of these checks keeps an idle region cheap: every other replica reads only the lease, and
        # without intents the last holder removes its lease and sleeps.
        if await self._lease.is_elsewhere():
            self._reset()
            return _LEASE_SECONDS
        if not await self._intents.any():
            self._reset()
            await self._lease.release()
            return _POLL_SECONDS
        lease = await self._lease.take()
        if lease is None:
            return _LEASE_SECONDS
        # The lease may name a run that its last holder left. It is continued only if all of its tables are
        # still due: since then an intent may have been written anew, or the record may be damaged.
        run = lease.run if lease.run and await self._intents.are_due(lease.run.intents) else None
        # While that run still fails, others that failed with it are not repeated: each would read all the
        # keys of the masters that answer again, every 15 s.
        if run is None:
            self._stalled.clear()
        while True:
            if run is not None and not await self._continue(run):
                self._reset()
                return _LEASE_SECONDS
            # Stalled intents share the next run only if another table is due as well; alone they would fail
            # again immediately, so they wait for the next round.
            due = await self._intents.due(TABLES_PER_RUN, stalled=self._stalled)
            if not due:
                return _ROUND_SECONDS
            # The run is written into the lease before its first purge. The swap fails if another replica has
            # taken over after a long pause of this process; nothing is purged then.
            run = PurgeRun(due)
            if not await self._lease.renew(run):
                return _LEASE_SECONDS

    def _reset(self) -> None:
        self._intents.reset()
        self._stalled.clear()

    async def _continue(self, run: PurgeRun) -> bool:
        """Continues a run until it ends or the store fails. Returns False if the lease is lost.

        A stalled run stays in the lease for the next round. If tables were deleted meanwhile, a new run for
        all of them replaces it.
        """
        keyspaces = [Keyspace(name.removeprefix(RECLAIMS)) for name in run.intents]
        is_over = False
        while not is_over:
            if self._lease.is_due and not await self._lease.renew(run):
                return False
            try:
                step = await self._entries.purge(keyspaces, run.cursor)
            except BackendError as error:
                self._stalled |= dict.fromkeys(run.intents, error)
                return await self._lease.renew(run)
            self.scanned += step.scanned
            self.deleted += step.deleted
            await _pace(step.commands, step.scanned)
            is_over = step.cursor is None
            run = replace(run, cursor=step.cursor)
        return await self._close(run)

    async def _close(self, run: PurgeRun) -> bool:
        """Notes in each intent that its table was purged from the whole store."""
        self._stalled.clear()
        for name, version in run.intents.items():
            await self._intents.note_purged(name, version)
            await _pace(commands=2)
        return await self._lease.renew(None)


async def _pace(commands: int, keys: int = 0) -> None:
    await asyncio.sleep(max(commands / COMMANDS_PER_SECOND, keys / KEYS_PER_SECOND))
