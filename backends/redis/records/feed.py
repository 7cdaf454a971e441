"""The change feed in Redis: a stream of the names of changed records, in the slot of their hash.

The script that swaps a record adds its name to the stream, so a change and its announcement are applied,
replicated and lost together. A position consists of the server process (`run`) and of id and name of the last
announcement read. Each read begins with that announcement again. If it is missing, the stream was trimmed,
removed, or replaced in a failover by one that lacks it, and the answer is incomplete.

An answer of another process is incomplete even if it has the position (D160). Readers may have seen changes
in a record and not yet in the stream: changes made after their last poll and lost with the old master. The
new master announces nothing for those, and the reader's cache would keep them.

Foreign entries in the stream name no record, and stop no reader.
"""

import asyncio

from backends.errors import CorruptEntry
from backends.interface import MAX_CHANGES, Changes
from backends.redis.topology.interface import Topology
from backends.redis.wire.commands import Keys, pack
from backends.redis.wire.replies import facts_of

KEPT_CHANGES = 10_000
"""The least number of announcements kept, about 1 MB."""

_INFO = pack("INFO", "server")
_EMPTY = "0-0"
_FOREIGN = "the feed in Redis was not written by this gateway"


class RedisFeed:
    """The reader of the feed."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._keys = keys

    async def changes(self, position: str | None) -> Changes:
        """Implements `RecordStore.changes`."""
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
        """Returns the server process and the announcements, each as `<id> <name>`."""
        key = self._keys.changes
        read = pack(command, key, start, end, "COUNT", count)
        calls = (self._topology.call(key, each) for each in (_INFO, read))
        info, reply = await asyncio.gather(*calls)
        run = facts_of(info).get(b"run_id", b"").decode("ascii", "replace")
        try:
            return run, [f"{each.decode()} {fields[-1].decode(errors='replace')}" for each, fields in reply]
        except (ValueError, TypeError, AttributeError):
            raise CorruptEntry(_FOREIGN) from None
