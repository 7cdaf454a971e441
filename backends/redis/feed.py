"""The feed of changed records in Redis: a stream beside the hash of records, in the same slot.

The script that swaps a record adds its name to the stream, so a change and its announcement are applied,
replicated and lost together. A position is the id and the name of the last announcement that was read. An
answer begins with that announcement again: if it is not there, the stream was cut, removed or, by a
failover, replaced by one that lacks it, and what was announced meanwhile is not known. What somebody else has
written into the stream names no record, and stops nobody.
"""

from backends.errors import CorruptEntry
from backends.interface import MAX_CHANGES, Changes
from backends.redis.commands import Keys, pack
from backends.redis.topology import Topology

KEPT_CHANGES = 10_000
"""About 1 MB; so many at least are kept."""

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
            return Changes((), await self._end(), is_complete=False)
        told_id = position.partition(" ")[0]
        announced = await self._read("XRANGE", told_id, "+", MAX_CHANGES + 2)
        told = announced[0] if announced else _EMPTY
        if position == _EMPTY:
            announced.insert(0, _EMPTY)
        elif told != position:
            return await self.changes(None)
        if len(announced) > MAX_CHANGES + 1:
            return await self.changes(None)
        names = tuple(each.partition(" ")[2] for each in announced[1:])
        return Changes(names, announced[-1], is_complete=True)

    async def _end(self) -> str:
        last = await self._read("XREVRANGE", "+", "-", 1)
        return last[0] if last else _EMPTY

    async def _read(self, command: str, start: str, end: str, count: int) -> list[str]:
        """Announcements as positions."""
        read = pack(command, self._keys.changes, start, end, "COUNT", count)
        reply = await self._topology.call(self._keys.changes, read)
        try:
            return [f"{each.decode()} {fields[-1].decode(errors='replace')}" for each, fields in reply]
        except (ValueError, TypeError, AttributeError):
            raise CorruptEntry(_FOREIGN) from None
