"""Directory records in Redis: the fields of one hash, each a version and a document (D157)."""

from collections.abc import Sequence
from uuid import uuid4

from backends.errors import BackendUnavailable
from backends.interface import Changes, NamedRecord, Record
from backends.redis.records.feed import KEPT_CHANGES, RedisFeed
from backends.redis.records.name_index import NameIndex
from backends.redis.topology.interface import Script, Topology
from backends.redis.wire.commands import Keys, pack
from backends.redis.wire.replies import NOT_REDIS
from backends.redis.wire.resp import Reply

_VERSION_LENGTH = 32
_VERSION_ENCODING = "latin-1"
"""Decodes any 32 bytes and encodes them back unchanged, also those of a foreign record."""

_FOREIGN_NAMES = ("utf-8", "surrogateescape")
"""Round-trips foreign names that are not UTF-8."""


def _is_swapped(reply: Reply) -> bool:
    if type(reply) is not int or reply not in (0, 1):
        raise BackendUnavailable(NOT_REDIS)
    return reply == 1


_SWAP = Script(
    f"""
redis.call('HDEL', KEYS[1], '')
local current = redis.call('HGET', KEYS[1], ARGV[1])
local version = current and string.sub(current, 1, 32) or ''
if version ~= ARGV[2] then
    return 0
end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', {KEPT_CHANGES}, '*', 'name', ARGV[1])
if ARGV[3] == '' then
    redis.call('ZREM', KEYS[2], ARGV[1])
    redis.call('HDEL', KEYS[1], ARGV[1])
else
    redis.call('ZADD', KEYS[2], 0, ARGV[1])
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
""",
    keys=3,
    arguments=3,
    result_of=_is_swapped,
)
"""Swaps a record: name, expected version (empty: absent), new content (empty: remove).

The first HDEL changes nothing, but Redis lets a script that has begun with a write continue at `maxmemory`:
the operator who has to make room needs the directory.

A failing command in a script does not undo the commands before it. So the announcement comes first, and the
index before the record: the worst result is an announcement without a change, or a name without a record,
which the next page repairs; never a change that no replica learns of.
"""


class RedisRecordStore:
    """A `RecordStore`. Versions are random, so a re-created record has another version."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._name = keys.records
        self._names = keys.names
        self._index = NameIndex(topology, keys.records, keys.names)
        self._changes = keys.changes
        self._feed = RedisFeed(topology, keys)

    async def read(self, name: str) -> Record | None:
        stored = await self._topology.call(self._name, pack("HGET", self._name, _bytes(name)))
        return None if stored is None else _record(stored)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        stored = b"" if document is None else uuid4().hex.encode() + document
        keys, version = (self._name, self._names, self._changes), (expected or "").encode(_VERSION_ENCODING)
        return await _SWAP.call(self._topology, *keys, _bytes(name), version, stored)

    async def changes(self, position: str | None) -> Changes:
        return await self._feed.changes(position)

    async def page(self, prefix: str, *, after: str, limit: int) -> Sequence[NamedRecord]:
        found = await self._index.page(_bytes(prefix), _bytes(after), limit)
        return [(name.decode(*_FOREIGN_NAMES), _record(stored)) for name, stored in found]


def _record(stored: Reply) -> Record:
    if not isinstance(stored, bytes):
        raise BackendUnavailable(NOT_REDIS)
    return Record(stored[_VERSION_LENGTH:], stored[:_VERSION_LENGTH].decode(_VERSION_ENCODING))


def _bytes(name: str) -> bytes:
    return name.encode(*_FOREIGN_NAMES)
