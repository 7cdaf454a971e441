"""Directory records in Redis: the fields of one hash, each a version and a document (D94)."""

from collections.abc import AsyncIterator
from heapq import merge
from uuid import uuid4

from backends.errors import CorruptEntry
from backends.interface import Record
from backends.redis.commands import Keys, escape_glob, pack
from backends.redis.connection import Reply
from backends.redis.replies import page_of
from backends.redis.topology import Script, Topology

_VERSION_LENGTH = 32
_LISTED_PER_STEP = 500
_FOREIGN = "a record in Redis was not written by this gateway"

_SWAP = Script(
    """
redis.call('HDEL', KEYS[1], '')
local current = redis.call('HGET', KEYS[1], ARGV[1])
local version = current and string.sub(current, 1, 32) or ''
if version ~= ARGV[2] then
    return 0
end
if ARGV[3] == '' then
    redis.call('HDEL', KEYS[1], ARGV[1])
else
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
""",
    arguments=3,
    result_of=bool,
)
"""Name, expected version (empty: absent), and what to write (empty: remove). In one hash, so that a list
need not walk through all entries, and so that a slot that moves takes all records with it at once. The HDEL
changes nothing, but after it a script may go on at `maxmemory`: who has to make room needs the directory."""


class RedisRecordStore:
    """A `RecordStore`. Versions are random, so a record that was created anew is another one."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._name = keys.records

    async def read(self, name: str) -> Record | None:
        stored = await self._topology.call(self._name, pack("HGET", self._name, name))
        return None if stored is None else _record(stored)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        stored = b"" if document is None else uuid4().hex.encode() + document
        return await _SWAP.call(self._topology, self._name, name.encode(), (expected or "").encode(), stored)

    async def list(self, prefix: str) -> AsyncIterator[tuple[str, Record]]:
        pattern = escape_glob(prefix.encode()) + b"*"
        pages: list[list[tuple[bytes, bytes]]] = []
        cursor = b"0"
        while True:
            step = pack("HSCAN", self._name, cursor, "MATCH", pattern, "COUNT", _LISTED_PER_STEP)
            cursor, pairs = page_of(await self._topology.call(self._name, step))
            pages.append(sorted(zip(pairs[::2], pairs[1::2], strict=False)))
            if cursor == b"0":
                break
        before = None
        for name, stored in merge(*pages):  # sorting all at once would hold the event loop
            if name != before:  # a field may come twice
                yield _text(name), _record(stored)
            before = name


def _record(stored: Reply) -> Record:
    if not isinstance(stored, bytes) or len(stored) < _VERSION_LENGTH:
        raise CorruptEntry(_FOREIGN)
    return Record(stored[_VERSION_LENGTH:], _text(stored[:_VERSION_LENGTH]))


def _text(stored: bytes) -> str:
    try:
        return stored.decode()
    except UnicodeDecodeError:
        raise CorruptEntry(_FOREIGN) from None
