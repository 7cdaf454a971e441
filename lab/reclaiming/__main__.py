"""python -m lab.reclaiming [keys] [pairs]: latency of calls beside a purge, and without one.

Two replicas on one Redis. The walk is that of one of them, which is called while it walks; then it is
stopped, and the other one is called. Such windows follow each other, so that whatever else the machine does
falls on both kinds alike. A line of JSON is printed: all windows in order, with latencies in milliseconds.
"""

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path

import msgspec

from lab.reclaiming.crowded import delete_tables, gateways_on, latencies, populate, reclaimed
from tests.support.gateway import Gateway
from tests.support.redis import RedisServer

TABLES = 20
_SECONDS = 4.0
_SETTLING_SECONDS = 0.5


class Window(msgspec.Struct, frozen=True):
    """Some seconds of calls, beside a purge or without; `scanned`: keys that were looked at in a second."""

    has_walk: bool
    calls: int
    p50_ms: float
    p99_ms: float
    scanned: float
    load: float


async def measure(keys: int, pairs: int) -> list[Window]:
    """As many pairs of windows, or fewer if the walks end before."""
    with tempfile.TemporaryDirectory() as folder, RedisServer() as server:
        await asyncio.to_thread(populate, server, keys)
        async with gateways_on(server, Path(folder), 2) as gateways:
            await delete_tables(gateways[0], TABLES)
            walking, resting = await _by_lease(gateways)
            windows = []
            for _ in range(pairs):
                windows.append(await _window(walking, walking))
                walking.replica.signal(signal.SIGSTOP)
                windows.append(await _window(resting, walking))
                walking.replica.signal(signal.SIGCONT)
            return windows


async def _by_lease(gateways: list[Gateway]) -> list[Gateway]:
    """Returns the gateway that purges, and the other one."""
    while True:
        scanned = [(await reclaimed(each))[0] for each in gateways]
        if any(scanned):
            return gateways if scanned[0] else gateways[::-1]
        await asyncio.sleep(0.05)


async def _window(called: Gateway, walking: Gateway) -> Window:
    has_walk = called is walking
    await latencies(called, _SETTLING_SECONDS)
    before = (await reclaimed(walking))[0] if has_walk else 0
    found = sorted(1000 * each for each in await latencies(called, _SECONDS))
    scanned = (await reclaimed(walking))[0] - before if has_walk else 0
    p50_ms, p99_ms = (found[int(len(found) * share)] for share in (0.5, 0.99))
    return Window(has_walk, len(found), p50_ms, p99_ms, scanned / _SECONDS, os.getloadavg()[0])


if __name__ == "__main__":
    amounts = [int(each) for each in [*sys.argv[1:], "10000000", "20"][:2]]
    print(msgspec.json.encode(asyncio.run(measure(*amounts))).decode())
