"""Tables of both layouts: each call goes to the layout that its table has."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from backends.errors import NotBegun
from backends.interface import WindowCounter
from backends.redis.entries.purging import Purging
from backends.redis.layouts.marks import Mark, Marks
from backends.redis.layouts.moving import OldTables
from backends.redis.layouts.upgrade import Upgrade
from backends.redis.tables.marks import may_be_old
from backends.redis.tables.replies import NotUpgraded
from backends.redis.tables.store import RedisTables
from backends.redis.topology.interface import Topology
from backends.redis.wire.commands import Keys, pack
from backends.sequential import SequentialSteps
from backends.tables import (
    Charges,
    Done,
    EntryOperation,
    EntryResult,
    OldLayout,
    OldReplicas,
    Refused,
    Step,
    Table,
    TableCount,
    UpgradeStep,
    always,
)

COMMANDS_PER_SECOND = 1000
"""Pace of the removal of old entries: one hundredth of a Redis server's capacity."""

KEYS_PER_SECOND = 50_000
"""Pace of the walk to them: a scanned key costs Redis and this event loop little."""


class LayeredTables:
    """A `ChargedStore` and `TableStore`.

    A table of version 0.3 costs one look at its id. One of version 0.2 is first taken for upgraded, and the
    script of its step looks at its mark; unless it is, its home is charged, and its entry is used, in calls
    of their own, under the names of version 0.2.
    """

    def __init__(self, topology: Topology, keys: Keys, prefix: str, counters: WindowCounter) -> None:
        self._topology = topology
        self._new = RedisTables(topology, prefix)
        self._marks = Marks(topology, self._new.home, keys)
        self._old = OldTables(topology, keys, self._marks, self._new)
        self._upgrade = Upgrade(topology, keys, self._marks, self._old, self._new)
        self._old_steps = SequentialSteps(counters, self._old)
        self._purging = Purging(topology, keys)

    def step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> Coroutine[Any, Any, Step]:
        if may_be_old(table.keyspace):
            return self._step(charges, table, operations, now_ms, may_begin=may_begin)
        return self._new.step(charges, table, operations, now_ms, may_begin=may_begin)

    def execute(
        self, table: Table, operation: EntryOperation, now_ms: int
    ) -> Coroutine[Any, Any, EntryResult]:
        if may_be_old(table.keyspace):
            return self._execute(table, operation, now_ms)
        return self._new.execute(table, operation, now_ms)

    async def count(self, table: Table, now_ms: int) -> TableCount | OldLayout:
        if await self._is_old(table):
            return OldLayout()
        return await self._new.count(table, now_ms)

    async def drop(self, tables: Sequence[Table]) -> None:
        await self._new.drop(tables)
        old = [table for table in tables if await self._is_remaining(table)]
        if not old:
            return
        await self._purge(old)
        for table in old:
            settled = self._new.home(table.home).settled_of(table.keyspace)
            await self._topology.call(settled, pack("UNLINK", settled))
            await self._marks.remove(table)

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        await self._new.tidy(tables, now_ms)

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep | OldReplicas:
        if may_be_old(table.keyspace):
            return await self._upgrade.step(table, cursor, now_ms)
        return UpgradeStep(None)

    async def close(self) -> None:
        """Ends work in the background; may be repeated."""
        await self._new.close()

    async def _step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool],
    ) -> Step:
        try:
            return await self._new.step(charges, table, operations, now_ms, may_begin=may_begin)
        except NotUpgraded as error:
            if not error.is_marked and await self._marks.settle(table) is Mark.NEW:
                if not may_begin():
                    raise NotBegun("the attempt ended before the step") from None
                return await self._new.step(charges, table, operations, now_ms, may_begin=may_begin)
        if len(operations) <= 1:
            return await self._old_steps.step(charges, table, operations, now_ms, may_begin=may_begin)
        charged = await self._old_steps.step(charges, table, (), now_ms)
        if isinstance(charged, Refused):
            return charged
        return Done(charged.charges, (OldLayout(),) * len(operations))

    async def _execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        try:
            return await self._new.execute(table, operation, now_ms)
        except NotUpgraded as error:
            if not error.is_marked and await self._marks.settle(table) is Mark.NEW:
                return await self._new.execute(table, operation, now_ms)
        return await self._old.execute(table, operation, now_ms)

    async def _is_old(self, table: Table) -> bool:
        return may_be_old(table.keyspace) and not (await self._marks.settle(table)).is_upgraded

    async def _is_remaining(self, table: Table) -> bool:
        """Returns whether strings of layout 1 may be left."""
        return may_be_old(table.keyspace) and await self._marks.read(table) is not Mark.NEW

    async def _purge(self, tables: Sequence[Table]) -> None:
        keyspaces = [table.keyspace for table in tables]
        step = await self._purging.step(keyspaces, None)
        while step.cursor is not None:
            await asyncio.sleep(max(step.commands / COMMANDS_PER_SECOND, step.scanned / KEYS_PER_SECOND))
            step = await self._purging.step(keyspaces, step.cursor)
