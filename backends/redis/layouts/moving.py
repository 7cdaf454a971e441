"""Operations on a table of layout 1, and the move of single entries; the package says why this is sound."""

import asyncio
from collections.abc import Sequence
from typing import Any

from backends.effects import is_live
from backends.errors import BackendUnavailable, CorruptEntry, StoreFull
from backends.redis.layouts.marks import Mark, Marks
from backends.redis.layouts.old import NO_REVISION, OldEntries, entry_in, frozen_in
from backends.redis.tables.encoding import arguments_of
from backends.redis.tables.scripts import SETTLE
from backends.redis.tables.store import RedisTables
from backends.redis.topology.interface import Topology, prepare_keys
from backends.redis.wire.commands import Keys
from backends.redis.wire.replies import NOT_REDIS
from backends.tables import (
    ANY,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    NoEntry,
    OldLayout,
    PutEntry,
    Removed,
    Revisions,
    StoredEntry,
    Table,
    Written,
)

_LATE, _SETTLED_NOW = 0, 2
_UPGRADED = "the table was upgraded meanwhile"


class OldTables:
    """Executes operations on tables of layout 1, also while they are being moved."""

    def __init__(self, topology: Topology, keys: Keys, marks: Marks, new: RedisTables) -> None:
        self._topology = topology
        self._keys = keys
        self._marks = marks
        self._new = new
        self._old = OldEntries(topology, keys)
        self._revisions = Revisions()

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        """Executes one operation; returns `OldLayout` for those that layout 1 does not have."""
        match operation:
            case GetEntry():
                return await self._get(table, operation, now_ms)
            case PutEntry(condition=condition) if condition == ANY:
                return await self._put(table, operation, now_ms)
            case DeleteEntry(condition=condition) if condition == ANY:
                return await self._delete(table, operation, now_ms)
        return OldLayout()

    async def move(self, table: Table, names: Sequence[bytes], now_ms: int) -> int:
        """Moves entries; returns the number of keys that were not settled before."""
        contents = await asyncio.gather(*map(self._old.freeze, names))
        first = len(self._keys.entries_of(table.keyspace))
        frozen = {
            name[first:]: content
            for name, content in zip(names, contents, strict=True)
            if content is not None
        }
        return (await self._settle(table, frozen, now_ms) or []).count(_SETTLED_NOW) if frozen else 0

    async def expire(self, names: Sequence[bytes]) -> int:
        """Lets what is left of moved entries expire; returns their number."""
        await asyncio.gather(*map(self._old.expire, names))
        return len(names)

    async def _get(self, table: Table, get: GetEntry, now_ms: int) -> EntryResult:
        found = await self._old.get(table, get.key)
        frozen = frozen_in(found)
        if frozen is None:
            mark = await self._marks.read(table)
            if mark.is_upgraded:
                return await self._new.execute_settled(table, get, now_ms)
            if found is None:
                return NoEntry()
            if mark is not Mark.MOVING:
                return _live(entry_in(found), now_ms)
        # An entry that only this reply showed could be lost with the put that wrote it. So settle it first.
        try:
            await self._settle_frozen(table, get.key, frozen, now_ms)
        except StoreFull:
            return _live(entry_in(found if frozen is None else frozen), now_ms)
        return await self._new.execute_settled(table, get, now_ms)

    async def _put(self, table: Table, put: PutEntry, now_ms: int) -> EntryResult:
        frozen = frozen_in(await self._old.put(table, put.key, put.entry, now_ms))
        if frozen is not None:
            await self._settle_frozen(table, put.key, frozen, now_ms)
            return await self._new.execute_settled(table, put, now_ms)
        mark = await self._marks.read(table)
        if mark in {Mark.NONE, Mark.OLD}:
            return Written(NO_REVISION)
        # The move may have passed this key before the put: nobody but the put moves it then.
        name = self._keys.entry(table.keyspace, put.key)
        content = await self._old.freeze(name)
        if content is None:  # another call has removed the entry
            if mark.is_upgraded:
                raise BackendUnavailable(_UPGRADED)
            return Written(NO_REVISION)
        states = await self._settle(table, {put.key.encode(): content}, now_ms)
        if states is None or states[0] == _LATE:
            await self._old.expire(name)
        if states is None:
            raise BackendUnavailable(_UPGRADED)
        if states[0] == _LATE:  # it was never to be seen
            return await self._new.execute_settled(table, put, now_ms)
        return Written(NO_REVISION)

    async def _delete(self, table: Table, delete: DeleteEntry, now_ms: int) -> EntryResult:
        removed = await self._old.delete(table, delete.key)
        frozen = frozen_in(removed)
        if frozen is not None:
            await self._settle_frozen(table, delete.key, frozen, now_ms)
        elif not (await self._marks.read(table)).is_upgraded:
            return Removed()
        elif removed != 0:  # perhaps the entry, perhaps the rest of a put that failed
            raise BackendUnavailable(_UPGRADED)
        return await self._new.execute_settled(table, delete, now_ms)

    async def _settle_frozen(self, table: Table, key: str, frozen: bytes | None, now_ms: int) -> None:
        """Settles a key, which is frozen first if it is not yet."""
        if frozen is None:
            frozen = await self._old.freeze(self._keys.entry(table.keyspace, key))
        if frozen is not None:
            await self._settle(table, {key.encode(): frozen}, now_ms)

    async def _settle(self, table: Table, frozen: dict[bytes, bytes], now_ms: int) -> list[int] | None:
        """Settles frozen keys. None if the move has ended so long ago that settled keys are not known."""
        home = self._new.home(table.home)
        keys = [home.settled_of(table.keyspace), *home.keys_of(table.keyspace)]
        arguments = [b"-1", table.keyspace.encode(), b"%d" % now_ms]
        for key, content in frozen.items():
            arguments += (key, self._moved(content, now_ms))
        states: Any = await SETTLE.call(self._topology, prepare_keys(keys), arguments)
        match states:
            case [*_] if len(states) == len(frozen) and all(isinstance(each, int) for each in states):
                return list(states)
            case b"new":
                return None
        raise BackendUnavailable(NOT_REDIS)

    def _moved(self, content: bytes, now_ms: int) -> bytes:
        """Returns a frozen entry as layout 2 stores it; nothing for an expired one, and for foreign data."""
        try:
            old = entry_in(content)
        except CorruptEntry:
            return b""
        if not is_live(old, now_ms):
            return b""
        entry = StoredEntry(old.value, old.expires_at_ms, self._revisions.next())
        return arguments_of(PutEntry("", entry))[-1]


def _live(entry: StoredEntry, now_ms: int) -> EntryResult:
    return entry if is_live(entry, now_ms) else NoEntry()
