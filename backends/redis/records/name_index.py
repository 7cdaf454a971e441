"""The name index of the records: a sorted set beside their hash, because a hash has no order (D157).

A swap changes both in one script, so they differ only after writes of a version without the index: an older
replica during an upgrade, or all replicas before it. The page script returns nothing if the two differ in
size, or if a name has no record. Then the index is repaired in steps that hold Redis for less than a
millisecond each. Steps are idempotent, and several replicas may repair concurrently.
"""

import asyncio
from collections.abc import Sequence

from backends.errors import BackendUnavailable
from backends.redis.topology.interface import Result, Script, Topology
from backends.redis.wire.replies import NOT_REDIS
from backends.redis.wire.resp import Reply

_ATTEMPTS = 3

_PART_BYTES = 262_144
"""Bytes of records behind which one reply ends. Records of apps with many tables are 100 times as large as
most: a whole page of them would hold Redis and the event loop."""

Found = Sequence[tuple[bytes, bytes]]

_Part = tuple[Found, bool]
"""Some of the records of a page, and whether more of it follow."""


def _part_of(reply: Reply) -> _Part | None:
    match reply:
        case None:
            return None
        case [list(names), list(stored), int(more)] if len(names) == len(stored) and (names or not more):
            if all(isinstance(each, bytes) for each in (*names, *stored)):
                return list(zip(names, stored, strict=True)), bool(more)
    raise BackendUnavailable(NOT_REDIS)


def _position_of(reply: Reply) -> bytes:
    if isinstance(reply, bytes):
        return reply
    raise BackendUnavailable(NOT_REDIS)


_PAGE = Script(
    """
if redis.call('HLEN', KEYS[1]) ~= redis.call('ZCARD', KEYS[2]) then
    return false
end
local names = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local shown, stored, bytes = {}, {}, 0
for number, name in ipairs(names) do
    local found = redis.call('HGET', KEYS[1], name)
    if not found then
        return false
    end
    shown[number], stored[number] = name, found
    bytes = bytes + #found
    if bytes >= tonumber(ARGV[4]) and number < #names then
        return {shown, stored, 1}
    end
end
return {shown, stored, 0}
""",
    keys=2,
    arguments=4,
    result_of=_part_of,
)
"""Returns the records between two names, up to a limit of records and one of bytes, and whether the limit of
bytes ended it; None if the index does not match the hash."""

_FILL = Script(
    """
redis.call('HDEL', KEYS[1], '')
local step = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 250)
for number = 1, #step[2], 2 do
    redis.call('ZADD', KEYS[2], 0, step[2][number])
end
return step[1]
""",
    keys=2,
    arguments=1,
    result_of=_position_of,
)
"""Adds the names of one HSCAN step; returns the next cursor. The first HDEL is explained at `_SWAP`."""

_PRUNE = Script(
    """
redis.call('HDEL', KEYS[1], '')
local names = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], '+', 'LIMIT', 0, 250)
for _, name in ipairs(names) do
    if not redis.call('HGET', KEYS[1], name) then
        redis.call('ZREM', KEYS[2], name)
    end
end
return names[#names] or ''
""",
    keys=2,
    arguments=1,
    result_of=_position_of,
)
"""Removes names without a record, one step; returns the last name checked, empty at the end."""


class NameIndex:
    """Pages of the hash `records`, in the order of the sorted set `names`."""

    def __init__(self, topology: Topology, records: bytes, names: bytes) -> None:
        self._topology = topology
        self._keys = (records, names)
        self._repairing = asyncio.Lock()

    async def page(self, prefix: bytes, after: bytes, limit: int) -> Found:
        """Returns names with their stored records, as `RecordStore.page` defines. Raises BackendError."""
        lowest = b"(" + after if after else b"[" + prefix if prefix else b"-"
        highest = b"(" + prefix + b"\xff" if prefix else b"+"  # UTF-8 has no such byte
        found: list[tuple[bytes, bytes]] = []
        follows = True
        while follows and len(found) < limit:
            part, follows = await self._part(lowest, highest, limit - len(found))
            found += part
            lowest = b"(" + found[-1][0] if found else lowest
        return found

    async def _part(self, lowest: bytes, highest: bytes, limit: int) -> _Part:
        arguments = (lowest, highest, b"%d" % limit, b"%d" % _PART_BYTES)
        for _ in range(_ATTEMPTS):
            found = await self._call(_PAGE, *arguments)
            if found is not None:
                return found
            async with self._repairing:
                await self._repair()
        raise BackendUnavailable("an older version of the gateway keeps changing the records")

    async def _repair(self) -> None:
        """Fills, then prunes. May repeat the repair of another replica, once per upgrade."""
        cursor = await self._call(_FILL, b"0")
        while cursor != b"0":
            cursor = await self._call(_FILL, cursor)
        name = await self._call(_PRUNE, b"-")
        while name:
            name = await self._call(_PRUNE, b"(" + name)

    async def _call(self, script: Script[Result], *arguments: bytes) -> Result:
        return await script.call(self._topology, *self._keys, *arguments)
