"""python -m tests.system.reclaiming [keys] [rounds]: how late calls are beside a walk, and without one."""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.support.gateway import Gateway
from tests.support.redis import RedisServer
from tests.system.reclaiming.crowded import delete_tables, gateways_on, latencies, populate, reclaimed

_SECONDS = 8.0
_WINDOWS = 3


async def measure(keys: int, rounds: int) -> None:
    """A round is a new gateway, which goes on with the walk only when the lease of the last one is over."""
    with tempfile.TemporaryDirectory() as folder, RedisServer() as server:
        populate(server, keys)
        print(f"{server.command('DBSIZE'):,} keys")
        for number in range(rounds):
            place = Path(folder) / str(number)
            place.mkdir()
            async with gateways_on(server, place, 1) as (gateway,):
                await latencies(gateway, 2)
                for _ in range(_WINDOWS):
                    await _window(gateway)
                if number == 0:
                    await delete_tables(gateway, 20)
                while not (await reclaimed(gateway))[0]:  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(0.5)
                for _ in range(_WINDOWS):
                    await _window(gateway)


async def _window(gateway: Gateway) -> None:
    before, _ = await reclaimed(gateway)
    found = await latencies(gateway, _SECONDS)
    scanned = (await reclaimed(gateway))[0] - before
    _show(f"{scanned / _SECONDS:,.0f} keys a second looked at", found)


def _show(what: str, found: list[float]) -> None:
    ordered = sorted(found)
    p50, p99 = (ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.99))
    print(f"{what}: {len(found)} calls, p50 {p50:.2f} ms, p99 {p99:.2f} ms", flush=True)


asyncio.run(measure(*[int(each) for each in [*sys.argv[1:], "10000000", "2"][:2]]))
