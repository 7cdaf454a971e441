"""Purging in Redis: one SCAN through all keys of all masters, for any number of tables (D95).

A SCAN per table would visit all keys once per table: 60 deletions visited 300,000 keys 60 times. A Lua script
would write keys that it does not declare, which a cluster does not support.
"""

import asyncio
from collections.abc import Collection, Sequence
from itertools import takewhile

from msgspec import Struct

from backends.interface import Keyspace
from backends.redis.entries.walk import SCANNED_PER_STEP, Walk
from backends.redis.topology.interface import Topology
from backends.redis.wire.commands import Keys, escape_glob, prepare

_UNLINK = prepare("UNLINK", None)

UNLINKED_AT_ONCE = 100


class PurgeStep(Struct, frozen=True):
    """The result of one purge step.

    `scanned` is approximate. `commands` counts each removal as one. `cursor` is the argument of the next step
    and None after the last one.
    """

    cursor: str | None
    scanned: int
    deleted: int
    commands: int


class Purging:
    """Purges in the steps of a walk. Keys that move to another master meanwhile may be missed."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._keys = keys
        self._walk = Walk(topology)

    async def step(self, keyspaces: Sequence[Keyspace], cursor: str | None) -> PurgeStep:
        """Takes one small step towards removing all entries of `keyspaces`, which are no longer in use.

        An unknown or outdated cursor restarts the purge.
        """
        tables = frozenset(map(self._keys.entries_of, keyspaces))
        commands = 2

        async def unlink(found: list[bytes]) -> int:
            nonlocal commands
            names = [name for name in found if self._keys.table_of(name) in tables]
            commands = 2 + len(names)
            return await self._unlink(names)

        step = await self._walk.step(pattern_of(tables), cursor, unlink)
        return PurgeStep(step.cursor, SCANNED_PER_STEP, step.acted, commands)

    async def _unlink(self, names: list[bytes]) -> int:
        """Returns the number of entries that still existed."""
        deleted = 0
        for first in range(0, len(names), UNLINKED_AT_ONCE):
            some = names[first : first + UNLINKED_AT_ONCE]
            replies = await asyncio.gather(*(self._topology.call(name, _UNLINK(name)) for name in some))
            deleted += replies.count(1)
        return deleted


def pattern_of(tables: Collection[bytes]) -> bytes:
    """Returns a MATCH pattern that covers the names of all entries of `tables` (one or more).

    It is the tables' common prefix. For several tables it also matches foreign names, which the caller drops.
    """
    first, last = min(tables), max(tables)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return escape_glob(first[: len(list(same))]) + b"*"
