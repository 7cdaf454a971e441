"""Entries in Redis: one string per entry, version and expiry in front of the value."""

import struct
from collections.abc import Callable, Sequence

from backends.errors import CorruptEntry
from backends.interface import LATEST_MS, Entry, Keyspace, PurgeStep
from backends.redis.entries.purging import Purging
from backends.redis.topology.interface import Topology
from backends.redis.wire.commands import Keys, prepare
from backends.redis.wire.replies import check_done

_SET = prepare("SET", None, None)
_SET_WITH_TTL = prepare("SET", None, None, "PX", None)
_GET = prepare("GET", None)
_UNLINK = prepare("UNLINK", None)

_FRONT = struct.Struct(">BQ")
_VERSION = 1
_NEVER = 0
_FOREIGN = "an entry in Redis was not written by this gateway"


class RedisEntryStore:
    """An `EntryStore`. Redis only collects expired entries; the expiry that `get` returns is the stored one.

    The time to live is relative (PX), so the wall clock of Redis may differ from ours (D7).
    """

    def __init__(self, topology: Topology, keys: Keys, now_ms: Callable[[], int]) -> None:
        self._topology = topology
        self._keys = keys
        self._now_ms = now_ms
        self._purging = Purging(topology, keys)

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        name = self._keys.entry(keyspace, key)
        stored = _FRONT.pack(_VERSION, entry.expires_at_ms or _NEVER) + entry.value
        command = _SET(name, stored)
        if entry.expires_at_ms is not None:
            ttl_ms = entry.expires_at_ms - self._now_ms()  # Redis refuses a time to live below 1
            command = _SET_WITH_TTL(name, stored, b"%d" % ttl_ms) if ttl_ms > 0 else _UNLINK(name)
        check_done(await self._topology.call(name, command))

    async def get(self, keyspace: Keyspace, key: str) -> Entry | None:
        name = self._keys.entry(keyspace, key)
        stored = await self._topology.call(name, _GET(name))
        if stored is None:
            return None
        if not isinstance(stored, bytes) or len(stored) < _FRONT.size or stored[0] != _VERSION:
            raise CorruptEntry(_FOREIGN)
        expires_at_ms = _FRONT.unpack_from(stored)[1]
        if expires_at_ms > LATEST_MS:
            raise CorruptEntry(_FOREIGN)
        return Entry(stored[_FRONT.size :], None if expires_at_ms == _NEVER else expires_at_ms)

    async def delete(self, keyspace: Keyspace, key: str) -> None:
        name = self._keys.entry(keyspace, key)
        check_done(await self._topology.call(name, _UNLINK(name)))

    async def purge(self, keyspaces: Sequence[Keyspace], cursor: str | None) -> PurgeStep:
        return await self._purging.step(keyspaces, cursor)
