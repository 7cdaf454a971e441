"""Removal of expired entries: bounded scripts, in the background of the store.

Steps report tables with expired entries. They are swept by one task per store, several tables at once, which
rests four times as long as Redis took: expired entries delay calls of others by little, however many there
are.
"""

import asyncio
import logging
from itertools import islice

from backends.background import Background
from backends.errors import BackendUnavailable, as_backend_error
from backends.interface import Keyspace
from backends.redis.tables.homes import Home
from backends.redis.tables.scripts import SWEEP
from backends.redis.topology.interface import Topology, prepare_keys
from backends.redis.wire.replies import NOT_REDIS

log = logging.getLogger("kvs.redis")

SWEPT_AT_ONCE = 250
"""Expired entries that one round removes: Redis takes about a millisecond."""

TABLES_AT_ONCE = 10
MOST_WAITING = 10_000
"""Tables that wait to be swept. Beyond it a report is dropped: the next one comes with a later call."""

_RESTS = 4


async def sweep(topology: Topology, home: Home, table: Keyspace, now_ms: int, most: int) -> bool:
    """Removes expired entries of a table, `most` of them; returns whether there may be more."""
    keys = prepare_keys(home.keys_of(table))
    removed = await SWEEP.call(topology, keys, (table.encode(), b"%d" % now_ms, b"%d" % most))
    if not isinstance(removed, int):
        raise BackendUnavailable(NOT_REDIS)
    return removed >= most


class Sweeper:
    """Sweeps the tables that calls have reported."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._waiting: dict[tuple[str, Keyspace], tuple[Home, int]] = {}
        self._round_seconds = 0.0
        self._task = Background(self._sweep_some, self._pause_seconds, _log_failure, self._cooldown_seconds)

    def add(self, home: Home, table: Keyspace, now_ms: int) -> None:
        """Lets a table be swept soon."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting[home.name, table] = (home, now_ms)
            self._task.wake()

    async def close(self) -> None:
        """Ends the task; may be repeated."""
        await self._task.close()

    async def _sweep_some(self) -> None:
        some = [(name, self._waiting.pop(name)) for name in list(islice(self._waiting, TABLES_AT_ONCE))]
        if not some:
            return
        loop = asyncio.get_running_loop()
        began = loop.time()
        most = SWEPT_AT_ONCE // len(some)
        each = [sweep(self._topology, home, table, now_ms, most) for (_, table), (home, now_ms) in some]
        have_more = await asyncio.gather(*each)
        self._round_seconds = loop.time() - began
        for ((_, table), (home, now_ms)), has_more in zip(some, have_more, strict=True):
            if has_more:
                self.add(home, table, now_ms)

    def _cooldown_seconds(self) -> float:
        return _RESTS * self._round_seconds

    def _pause_seconds(self) -> float | None:
        return 0.0 if self._waiting else None


def _log_failure(error: Exception) -> None:
    fields = {"reason": str(as_backend_error(error))}
    log.warning("expired entries cannot be removed", extra={"fields": fields})
