"""The feed of changed records in Redis: a stream beside the hash of records, in the same slot.

The script that swaps a record adds its name to the stream, so a change and its announcement are applied,
replicated and lost together. A position is the server process (`run`), and the id and the name of the last
announcement that was read. An answer begins with that announcement again: if it is not there, the stream was
cut, removed or, by a failover, replaced by one that lacks it, and what was announced meanwhile is not known.

Another process may lack changes that readers have seen in a record and not yet in the stream: those that were
made after their last question and were lost with the old master, or with a master that nobody followed any
more. So what it tells is incomplete, even if it has their position (D190).

What somebody else has written into the stream names no record, and stops nobody.
"""

import asyncio

from backends.errors import CorruptEntry
from backends.interface import MAX_CHANGES, Changes
from backends.redis.topology.interface import Topology
from backends.redis.wire.commands import Keys, pack
from backends.redis.wire.replies import facts_of

KEPT_CHANGES = 10_000
"""About 1 MB; so many at least are kept."""

_INFO = pack("INFO", "server")
_EMPTY = "0-0"
_FOREIGN = "the feed in Redis was not written by this gateway"


class RedisFeed:
    """Reads the feed."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._keys = keys

    async def changes(self, position: str | None) -> Changes:
        """As `RecordStore.changes`."""
        if position is None:
            return await self._begin()
        run, _, last = position.partition(" ")
        found_run, announced = await self._read("XRANGE", last.partition(" ")[0], "+", MAX_CHANGES + 2)
        if last == _EMPTY:
            announced.insert(0, _EMPTY)
        if found_run != run or announced[:1] != [last] or len(announced) > MAX_CHANGES + 1:
            return await self._begin()
        names = tuple(each.partition(" ")[2] for each in announced[1:])
        return Changes(names, f"{run} {announced[-1]}", is_complete=True)

    async def _begin(self) -> Changes:
        run, last = await self._read("XREVRANGE", "+", "-", 1)
        return Changes((), f"{run} {last[0] if last else _EMPTY}", is_complete=False)

    async def _read(self, command: str, start: str, end: str, count: int) -> tuple[str, list[str]]:
        """The process that answers, and announcements, each its id and name."""
        key = self._keys.changes
        read = pack(command, key, start, end, "COUNT", count)
        calls = (self._topology.call(key, each) for each in (_INFO, read))
        info, reply = await asyncio.gather(*calls)
        run = facts_of(info).get(b"run_id", b"").decode("ascii", "replace")
        try:
            return run, [f"{each.decode()} {fields[-1].decode(errors='replace')}" for each, fields in reply]
        except (ValueError, TypeError, AttributeError):
            raise CorruptEntry(_FOREIGN) from None
