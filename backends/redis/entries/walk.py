"""A walk through all keys of all masters, in small steps that any replica may continue."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256

from msgspec import Struct

from backends.errors import BackendError, BackendUnavailable
from backends.redis.topology.interface import Topology
from backends.redis.topology.server import Server
from backends.redis.wire.commands import pack
from backends.redis.wire.replies import NOT_REDIS, facts_of, page_of

INFO = pack("INFO", "server")

SCANNED_PER_STEP = 250
"""One step holds the server for about 0.1 ms, and this event loop for about as long."""

_FIRST = "0"

Act = Callable[[list[bytes]], Awaitable[int]]
"""Handles the keys that a step has found, and returns a number of them."""


class WalkStep(Struct, frozen=True):
    """The cursor of the next step (None after the last one), and the numbers of keys found and acted on."""

    cursor: str | None
    found: int
    acted: int


class _Position(Struct, frozen=True):
    """A cursor: the masters `left` (indexes into their sorted list), and the SCAN cursor of the first.

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


class Walk:
    """Walks in steps. A change of the masters restarts the walk; a restart of one master restarts its scan.

    A master that fails is moved to the end, so a dead one delays the end of the walk and nothing else. A step
    fails only if all masters left fail. Keys that move to another master meanwhile may be missed.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    async def step(self, pattern: bytes, cursor: str | None, act: Act) -> WalkStep:
        """Takes one step. No cursor begins a walk, and so does an unknown or outdated one."""
        masters = sorted(await self._topology.masters(), key=lambda master: master.name)
        begins = _Position(_digest(masters), tuple(range(len(masters))))
        here = _position_in(cursor) or begins
        if here.masters != begins.masters or not set(here.left) <= set(begins.left):
            here = begins
        for _ in here.left[1:]:
            try:
                return await self._step_of(masters[here.left[0]], here, pattern, act)
            except BackendError:
                here = here.last_first()
        return await self._step_of(masters[here.left[0]], here, pattern, act)

    async def _step_of(self, master: Server, here: _Position, pattern: bytes, act: Act) -> WalkStep:
        scan = pack("SCAN", here.scan, "MATCH", pattern, "COUNT", SCANNED_PER_STEP)
        info, reply = await asyncio.gather(master.call(INFO), master.call(scan))
        scanned_until, found = page_of(reply)
        acted = await act(found)
        after = _after(here, run_of(info), scanned_until)
        return WalkStep(str(after) if after.left else None, len(found), acted)


def run_of(info: object) -> str:
    """Returns the identity of a server process in its reply to INFO."""
    return facts_of(info).get(b"run_id", b"").decode("ascii", "replace")


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
    """Returns the position of the next step; without a master left the walk is over."""
    if here.scan != _FIRST and here.run != run:  # another process answered: its scan begins again
        return _Position(here.masters, here.left)
    if not _is_number(scan := scanned_until.decode("latin-1")):
        raise BackendUnavailable(NOT_REDIS)
    if scan != _FIRST:
        return _Position(here.masters, here.left, run, scan)
    return here.without_first()
