"""python -m lab.reclaiming [keys]: milliseconds to drop a table of 100 entries beside keys of others."""

import asyncio
import sys
import time

import msgspec

from backends.interface import Keyspace
from backends.tables import Table
from lab.reclaiming.crowded import populate
from tests.backends.redis.conformance import opened_redis
from tests.support.entries import Entry, put
from tests.support.redis import RedisServer

ENTRIES, TABLES = 100, 50


async def measure(keys: int) -> list[float]:
    """Returns the times of single drops in order of their size."""
    found = []
    with RedisServer() as server:
        await asyncio.to_thread(populate, server, keys)
        async with opened_redis(server.url) as store:
            for number in range(TABLES):
                table = Table("acme/shop/production", Keyspace(f"t2_{number:032x}"))
                for key in range(ENTRIES):
                    await put(store, table, f"key {key}", Entry(b"value", None))
                began = time.perf_counter()
                await store.tables.drop([table])
                found.append(1000 * (time.perf_counter() - began))
    return sorted(found)


if __name__ == "__main__":
    keys = int([*sys.argv[1:], "10000000"][0])
    times = asyncio.run(measure(keys))
    print(msgspec.json.encode({"p50_ms": times[len(times) // 2], "max_ms": times[-1]}).decode())
