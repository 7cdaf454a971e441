"""Entries of layout 1, as version 0.2 stores them: one string each, version and expiry in front of the value.

A frozen string begins with another byte, followed by what it was. Nothing but a cleaning changes it.
"""

from struct import Struct as Layout

from backends.errors import CorruptEntry
from backends.interface import LATEST_MS
from backends.redis.topology.interface import Script, Topology
from backends.redis.wire.commands import Keys, prepare
from backends.redis.wire.resp import Reply
from backends.tables import Revision, StoredEntry, Table

KEPT_MS = 3_600_000
"""Time for which a moved table's old strings remain: a failover that loses the end of the move finds them."""

NO_REVISION = Revision("")
"""The revision of entries of layout 1, which has none."""

_GET = prepare("GET", None)

_FRONT = Layout(">BQ")
_VERSION = 1
_FROZEN = b"\xff"
_NEVER = 0
_FOREIGN = "an entry in Redis was not written by this gateway"


def frozen_in(stored: Reply) -> bytes | None:
    """Returns what was frozen, or None for a string that is not frozen."""
    return stored[1:] if isinstance(stored, bytes) and stored.startswith(_FROZEN) else None


def entry_in(stored: Reply) -> StoredEntry:
    """Decodes an entry of layout 1. Raises CorruptEntry."""
    if not isinstance(stored, bytes) or len(stored) < _FRONT.size or stored[0] != _VERSION:
        raise CorruptEntry(_FOREIGN)
    expires_at_ms = _FRONT.unpack_from(stored)[1]
    if expires_at_ms > LATEST_MS:
        raise CorruptEntry(_FOREIGN)
    return StoredEntry(stored[_FRONT.size :], expires_at_ms or None, NO_REVISION)


class OldEntries:
    """Reads and writes entries of layout 1, unless they are frozen."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._keys = keys

    async def get(self, table: Table, key: str) -> Reply:
        """Returns the string of an entry, frozen or not; None if there is none."""
        name = self._keys.entry(table.keyspace, key)
        return await self._topology.call(name, _GET(name))

    async def put(self, table: Table, key: str, entry: StoredEntry, now_ms: int) -> Reply:
        """Stores an entry; returns the string instead, and stores nothing, if it is frozen."""
        stored = _FRONT.pack(_VERSION, entry.expires_at_ms or _NEVER) + entry.value
        ttl_ms = b"" if entry.expires_at_ms is None else b"%d" % (entry.expires_at_ms - now_ms)
        return await _PUT.call(self._topology, self._keys.entry(table.keyspace, key), stored, ttl_ms)

    async def delete(self, table: Table, key: str) -> Reply:
        """Removes an entry and returns the number removed; returns the string instead if it is frozen."""
        return await _DELETE.call(self._topology, self._keys.entry(table.keyspace, key))

    async def freeze(self, name: bytes) -> bytes | None:
        """Freezes a string, for ever; returns what it was before. None if there is none."""
        return frozen_in(await _FREEZE.call(self._topology, name))

    async def expire(self, name: bytes) -> None:
        """Lets a string expire soon."""
        await _EXPIRE.call(self._topology, name, b"%d" % KEPT_MS)


def _unchanged(reply: Reply) -> Reply:
    return reply


_PUT = Script(
    """
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'string' and string.byte(found) == 255 then
    return found
end
if ARGV[2] == '' then
    redis.call('SET', KEYS[1], ARGV[1])
elseif tonumber(ARGV[2]) > 0 then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
else
    redis.call('UNLINK', KEYS[1])
end
return 1
""",
    arguments=2,
    result_of=_unchanged,
)
_DELETE = Script(
    """
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'string' and string.byte(found) == 255 then
    return found
end
return redis.call('UNLINK', KEYS[1])
""",
    arguments=0,
    result_of=_unchanged,
)
_FREEZE = Script(
    """
local found = redis.pcall('GET', KEYS[1])
if not found then
    return false
end
if type(found) ~= 'string' then
    found = ''
end
if string.byte(found) ~= 255 then
    found = '\\255' .. found
    redis.call('SET', KEYS[1], found)
end
return found
""",
    arguments=0,
    result_of=_unchanged,
)
"""SET without a time to live ends an earlier one: a string that expired would fence off no old put."""

_EXPIRE = Script(
    """
local ttl_ms = redis.call('PTTL', KEYS[1])
if ttl_ms == -1 or ttl_ms > tonumber(ARGV[1]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
""",
    arguments=1,
    result_of=_unchanged,
)
