"""Purging in Redis: one SCAN through all keys of all masters, for any number of tables (D95).

A SCAN per table would visit all keys once per table: 60 deletions visited 300,000 keys 60 times. A Lua script
would write keys that it does not declare, which a cluster does not support.
"""

import asyncio
from collections.abc import Collection, Sequence
from hashlib import sha256
from itertools import takewhile

from msgspec import Struct

from backends.errors import BackendError, BackendUnavailable
from backends.interface import Keyspace, PurgeStep
from backends.redis.topology.interface import Topology
from backends.redis.topology.server import Server
from backends.redis.wire.commands import Keys, escape_glob, pack, prepare
from backends.redis.wire.replies import NOT_REDIS, facts_of, page_of

_UNLINK = prepare("UNLINK", None)
_INFO = pack("INFO", "server")

SCANNED_PER_STEP = 250
"""One step holds the server for about 0.1 ms, and this event loop for about as long."""

UNLINKED_AT_ONCE = 100
_FIRST = "0"


class _Position(Struct, frozen=True):
    """A purge cursor: the masters `left` (indexes into their sorted list), and the SCAN cursor of the first.

    A SCAN cursor is valid in one server process (`run`) only, because each process seeds its own hash
    function: after a restart or failover the same number would skip keys. `masters` is a digest of the names
    of all masters, which detects a change of the cluster.
    """

    masters: str
    left: tuple[int, ...]
    run: str = ""
    scan: str = _FIRST

    def without_first(self) -> "_Position":
        """Returns the beginning of the next master."""
        return _Position(self.masters, self.left[1:])

    def last_first(self) -> "_Position":
        """Moves the first master to the end, where its scan begins again."""
        return _Position(self.masters, (*self.left[1:], self.left[0]))

    def __str__(self) -> str:
        return f"{self.masters}/{self.run}/{self.scan}/{','.join(map(str, self.left))}"


class Purging:
    """Purges in steps. A change of the masters restarts the purge; a restart of one master restarts its scan.

    A master that fails is moved to the end, so a dead one delays the end of the purge and nothing else. A
    step fails only if all masters left fail.
    """

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._keys = keys

    async def step(self, keyspaces: Sequence[Keyspace], cursor: str | None) -> PurgeStep:
        """Takes one step of `EntryStore.purge`. Keys that move to another master meanwhile may be missed."""
        masters = sorted(await self._topology.masters(), key=lambda master: master.name)
        begins = _Position(_digest(masters), tuple(range(len(masters))))
        here = _position_in(cursor) or begins
        if here.masters != begins.masters or not set(here.left) <= set(begins.left):
            here = begins
        tables = frozenset(map(self._keys.entries_of, keyspaces))
        for _ in here.left[1:]:
            try:
                return await self._step_of(masters[here.left[0]], here, tables)
            except BackendError:
                here = here.last_first()
        return await self._step_of(masters[here.left[0]], here, tables)

    async def _step_of(self, master: Server, here: _Position, tables: Collection[bytes]) -> PurgeStep:
        scan = pack("SCAN", here.scan, "MATCH", pattern_of(tables), "COUNT", SCANNED_PER_STEP)
        info, reply = await asyncio.gather(master.call(_INFO), master.call(scan))
        scanned_until, found = page_of(reply)
        names = [name for name in found if self._keys.table_of(name) in tables]
        deleted = await self._unlink(names)
        run = facts_of(info).get(b"run_id", b"").decode("ascii", "replace")
        after = _after(here, run, scanned_until)
        next_cursor = str(after) if after.left else None
        return PurgeStep(next_cursor, SCANNED_PER_STEP, deleted, commands=2 + len(names))

    async def _unlink(self, names: list[bytes]) -> int:
        """Returns the number of entries that still existed."""
        deleted = 0
        for first in range(0, len(names), UNLINKED_AT_ONCE):
            some = names[first : first + UNLINKED_AT_ONCE]
            replies = await asyncio.gather(*(self._topology.call(name, _UNLINK(name)) for name in some))
            deleted += replies.count(1)
        return deleted


def pattern_of(tables: Collection[bytes]) -> bytes:
    """Returns a MATCH pattern that covers the names of all entries of `tables` (one or more).

    It is the tables' common prefix. For several tables it also matches foreign names, which the caller drops.
    """
    first, last = min(tables), max(tables)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return escape_glob(first[: len(list(same))]) + b"*"


def _digest(masters: Sequence[Server]) -> str:
    return sha256("\n".join(master.name for master in masters).encode()).hexdigest()[:16]


def _position_in(cursor: str | None) -> _Position | None:
    """Parses a cursor; None for anything that is not one of ours."""
    match (cursor or "").split("/"):
        case [masters, run, scan, left] if _is_number(scan) and all(map(_is_number, left.split(","))):
            return _Position(masters, tuple(map(int, left.split(","))), run, scan)
    return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 20


def _after(here: _Position, run: str, scanned_until: bytes) -> _Position:
    """Returns the position of the next step; without a master left the purge is over."""
    if here.scan != _FIRST and here.run != run:  # another process answered: its scan begins again
        return _Position(here.masters, here.left)
    if not _is_number(scan := scanned_until.decode("latin-1")):
        raise BackendUnavailable(NOT_REDIS)
    if scan != _FIRST:
        return _Position(here.masters, here.left, run, scan)
    return here.without_first()
