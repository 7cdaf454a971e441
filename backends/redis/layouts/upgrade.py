"""The move of a whole table to layout 2, in steps that any replica may continue."""

from functools import partial

from backends.redis.entries.walk import INFO, SCANNED_PER_STEP, Act, Walk, run_of
from backends.redis.layouts.marks import Mark, Marks
from backends.redis.layouts.moving import OldTables
from backends.redis.tables.store import RedisTables
from backends.redis.topology.interface import Topology
from backends.redis.wire.commands import Keys, escape_glob, pack
from backends.tables import OldReplicas, Table, UpgradeStep

MOVED_AT_ONCE = 25
"""Entries in one script: at most 1.6 MB."""

MOVED_PER_STEP = 250
SCANS_PER_STEP = 20


class Upgrade:
    """Moves tables. An interrupted move may be begun again at any time, and by several replicas at once.

    A walk through all keys after the mark `moving` finds each entry whose put has looked at the mark before.
    The end counts only if the home has stayed in one server process: a failover may lose settled keys, whose
    frozen strings the next walk finds. A second walk lets the frozen strings expire.
    """

    def __init__(
        self, topology: Topology, keys: Keys, marks: Marks, old: OldTables, new: RedisTables
    ) -> None:
        self._topology = topology
        self._keys = keys
        self._marks = marks
        self._old = old
        self._new = new
        self._walk = Walk(topology)

    async def step(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep | OldReplicas:
        """Takes one step. The first one only sets the mark, so that calls that began before it may end."""
        mark = await self._marks.settle(table)
        if mark is Mark.NEW:
            return await self._end(table)
        if await self._marks.has_old_replicas():
            return OldReplicas()
        run = await self._run_of_home(table)
        if mark is Mark.OLD:
            await self._marks.advance(table, Mark.MOVING, from_=Mark.OLD)
            return UpgradeStep(f"{Mark.MOVING}:{run}:")
        is_moving = mark is Mark.MOVING
        act: Act = partial(self._move, table, now_ms) if is_moving else self._old.expire
        begins = f"{mark}:{run}:"
        position = cursor.removeprefix(begins) if cursor is not None and cursor.startswith(begins) else ""
        step, moved = await self._walk_some(table, position, act)
        if step.cursor is not None:
            return UpgradeStep(begins + step.cursor, step.scanned, moved if is_moving else 0)
        if is_moving and run == await self._run_of_home(table):
            await self._marks.advance(table, Mark.MOVED, from_=Mark.MOVING)
        elif not is_moving:
            await self._marks.advance(table, Mark.NEW, from_=Mark.MOVED)
            return await self._end(table)
        return UpgradeStep(begins, step.scanned, moved)

    async def _walk_some(self, table: Table, position: str, act: Act) -> tuple[UpgradeStep, int]:
        pattern = escape_glob(self._keys.entries_of(table.keyspace)) + b"*"
        cursor, scanned, acted = position or None, 0, 0
        while True:
            step = await self._walk.step(pattern, cursor, act)
            cursor, scanned, acted = step.cursor, scanned + SCANNED_PER_STEP, acted + step.acted
            if cursor is None or acted >= MOVED_PER_STEP or scanned >= SCANS_PER_STEP * SCANNED_PER_STEP:
                return UpgradeStep(cursor, scanned), acted

    async def _move(self, table: Table, now_ms: int, names: list[bytes]) -> int:
        moved = 0
        for first in range(0, len(names), MOVED_AT_ONCE):
            moved += await self._old.move(table, names[first : first + MOVED_AT_ONCE], now_ms)
        return moved

    async def _end(self, table: Table) -> UpgradeStep:
        settled = self._new.home(table.home).settled_of(table.keyspace)
        await self._topology.call(settled, pack("UNLINK", settled))
        return UpgradeStep(None)

    async def _run_of_home(self, table: Table) -> str:
        return run_of(await self._topology.call(self._new.home(table.home).sizes, INFO))
