"""The layout of each table that version 0.2 may have created, as a mark in its home."""

from collections.abc import Callable
from enum import StrEnum

from backends.errors import BackendUnavailable
from backends.redis.entries.walk import SCANNED_PER_STEP
from backends.redis.tables.homes import Home
from backends.redis.tables.marks import mark_field
from backends.redis.topology.interface import Script, Topology
from backends.redis.topology.server import Server
from backends.redis.wire.commands import Keys, pack
from backends.redis.wire.replies import NOT_REDIS, page_of
from backends.redis.wire.resp import Reply
from backends.tables import Table

SEARCHED_KEYS = 100_000
"""Keys of a store that are searched for an entry of layout 1 before the store counts as one that has some."""

_NEW_STORE = b"2"


class Mark(StrEnum):
    """The layout of a table that version 0.2 may have created."""

    NONE = ""
    OLD = "old"
    MOVING = "moving"
    MOVED = "moved"
    NEW = "new"

    @property
    def is_upgraded(self) -> bool:
        """Whether all entries are in layout 2."""
        return self in {Mark.MOVED, Mark.NEW}


def mark_in(reply: Reply) -> Mark:
    """Decodes a mark. Raises BackendUnavailable."""
    try:
        return Mark("" if reply is None else reply.decode())
    except (ValueError, AttributeError):
        raise BackendUnavailable(NOT_REDIS) from None


class Marks:
    """Reads and advances marks."""

    def __init__(self, topology: Topology, home: Callable[[str], Home], keys: Keys) -> None:
        self._topology = topology
        self._home = home
        self._keys = keys
        self._has_entries = False
        """Whether a search has found an entry of layout 1, or too many other keys."""

    async def read(self, table: Table) -> Mark:
        """Returns the mark of a table."""
        sizes = self._home(table.home).sizes
        return mark_in(await self._topology.call(sizes, pack("HGET", sizes, mark_field(table.keyspace))))

    async def advance(self, table: Table, to: Mark, *, from_: Mark) -> Mark:
        """Sets the mark if it is `from_`; returns the mark that the table has then."""
        sizes = self._home(table.home).sizes
        field = mark_field(table.keyspace)
        return await _ADVANCE.call(self._topology, sizes, field, to.encode(), from_.encode())

    async def settle(self, table: Table) -> Mark:
        """Returns the mark of a table, and gives it one if it has none."""
        mark = await self.read(table)
        if mark is not Mark.NONE:
            return mark
        first = Mark.NEW if await self._is_new_store() else Mark.OLD
        return await self.advance(table, first, from_=Mark.NONE)

    async def remove(self, table: Table) -> None:
        """Removes the mark of a table that no longer exists."""
        sizes = self._home(table.home).sizes
        await self._topology.call(sizes, pack("HDEL", sizes, mark_field(table.keyspace)))

    async def has_old_replicas(self) -> bool:
        """Returns whether a replica of version 0.2 pinged within the last 5 s; each pings every second."""
        name = self._keys.old_ping
        return await self._topology.call(name, pack("GET", name)) is not None

    async def _is_new_store(self) -> bool:
        """Returns whether the store has no entry of layout 1, and no replica that would write one."""
        name = self._keys.layout
        if await self._topology.call(name, pack("GET", name)) == _NEW_STORE:
            return True
        if self._has_entries or await self.has_old_replicas():
            return False
        for master in await self._topology.masters():
            if await self._has_old_entries(master):
                self._has_entries = True
                return False
        await self._topology.call(name, pack("SET", name, _NEW_STORE))
        return True

    async def _has_old_entries(self, master: Server) -> bool:
        cursor = b"0"
        for _ in range(SEARCHED_KEYS // SCANNED_PER_STEP):
            scan = pack("SCAN", cursor, "MATCH", self._keys.all_entries, "COUNT", SCANNED_PER_STEP)
            cursor, found = page_of(await master.call(scan))
            if found or cursor == b"0":
                return bool(found)
        return True


_ADVANCE = Script(
    """
local mark = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if mark == ARGV[3] then
    mark = ARGV[2]
    redis.call('HSET', KEYS[1], ARGV[1], mark)
end
return mark
""",
    arguments=3,
    result_of=mark_in,
)
