"""The space of deleted tables, given back in the background, by one replica at a time.

The holder of the lease makes one walk through the store for all tables whose intents are due (D161). Tables
that are deleted meanwhile join the next one. Each step of a walk is small, and a pause behind it bounds the
commands per second. The lease keeps how far the walk is, so that the next holder goes on from there.

At rest nothing is asked: the feed of changes tells when an intent was written (`FeedFollower.on_intent`).
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
from gateway.directory.records import RECLAIMS, Walk
from gateway.directory.retention import Remembering

COMMANDS_PER_SECOND = 1000
"""A hundredth of what one Redis does, and a quarter of what a new table of DynamoDB takes."""

KEYS_PER_SECOND = 50_000
"""To look at a key costs a Redis little and this loop as much. 10 million keys of others take 200 s."""

TABLES_IN_A_WALK = 500
"""The lease names them all: 42 KB, of the 400 that an item of DynamoDB may have."""

_ROUND_SECONDS = 15.0
_LEASE_SECONDS = LEASE_MS / 1000
_LOOK_SECONDS = 3600.0
"""Without being told: for intents of replicas that announce nothing, of versions before the feed."""

log = logging.getLogger("kvs.directory")


class Reclaimer:
    """Purges the keyspaces of tables that no app has any more."""

    def __init__(
        self,
        records: RecordStore,
        entries: EntryStore,
        corrupt: CorruptRecords,
        remembering: Remembering,
        clock: Clock,
    ) -> None:
        self._entries = entries
        self._intents = Intents(records, corrupt, remembering, clock)
        self._lease = Lease(records, corrupt, clock)
        self._held_up: dict[str, BackendError] = {}
        """Intents whose walk could not go on in this round, and why."""
        self.pause_seconds = 0.0
        """Until the next round, unless an intent is written before."""
        self.scanned = 0
        """Keys that were looked at."""
        self.deleted = 0
        """Entries that were removed."""

    @property
    def pending(self) -> int:
        """Tables whose space is not given back wholly, if it is this replica that reclaims."""
        return len(self._intents)

    async def run(self) -> None:
        """One round, with as many walks as are due. What fails is done in the next one."""
        self.pause_seconds = _ROUND_SECONDS
        self._held_up.clear()
        try:
            self.pause_seconds = await self._round()
            failures = [*self._intents.failures, *self._held_up.values()]
        except BackendError as error:
            failures = [error]
        if failures:
            fields = {"failures": len(failures), "cause": type(failures[0]).__name__}
            log.warning("reclaiming waits for the store", extra={"fields": fields})

    async def _round(self) -> float:
        """The pause behind it, in seconds. Raises BackendError."""
        if await self._lease.is_elsewhere():
            self._intents.forget()
            return _LEASE_SECONDS
        if not await self._intents.are_there():
            self._intents.forget()
            await self._lease.release()
            return _LOOK_SECONDS
        lease = await self._lease.take()
        if lease is None:
            return _LEASE_SECONDS
        walk = lease.walk if lease.walk and await self._intents.are_due(lease.walk.intents) else None
        while True:
            if walk is not None and not await self._go_on(walk):
                self._intents.forget()
                return _LEASE_SECONDS
            due = await self._intents.due(TABLES_IN_A_WALK, but=self._held_up)
            if not due:
                return _ROUND_SECONDS
            walk = Walk(due)
            if not await self._lease.renew(walk):
                return _LEASE_SECONDS

    async def _go_on(self, walk: Walk) -> bool:
        """Go a walk to its end, or until the store holds it up; False: another replica has the lease now.

        One that is held up stays in the lease, for the next round. Where tables were deleted meanwhile, a new
        walk takes its place, which they share.
        """
        keyspaces = [Keyspace(name.removeprefix(RECLAIMS)) for name in walk.intents]
        is_over = False
        while not is_over:
            if self._lease.is_due and not await self._lease.renew(walk):
                return False
            try:
                step = await self._entries.purge(keyspaces, walk.cursor)
            except BackendError as error:
                self._held_up |= dict.fromkeys(walk.intents, error)
                return await self._lease.renew(walk)
            self.scanned += step.scanned
            self.deleted += step.deleted
            await _pace(step.commands, step.scanned)
            is_over = step.cursor is None
            walk = replace(walk, cursor=step.cursor)
        return await self._close(walk)

    async def _close(self, walk: Walk) -> bool:
        """Note of each intent that the whole store was walked for it."""
        for name, version in walk.intents.items():
            await self._intents.note_purged(name, version)
            await _pace(commands=2)
        return await self._lease.renew(None)


async def _pace(commands: int, keys: int = 0) -> None:
    await asyncio.sleep(max(commands / COMMANDS_PER_SECOND, keys / KEYS_PER_SECOND))
