"""A Redis with many keys of others, gateways on it, and what reclaiming costs there."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.support.config import BASE, merged
from tests.support.gateway import Gateway
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.redis import RedisServer
from tests.support.scraping import parse, total

APPS = "/v1/orgs/acme/apps"
_AT_ONCE = 50_000
_POPULATE = """
for number = ARGV[1], ARGV[2] do
    redis.call('SET', string.format('kvs:e:tbl_%032d:key', number), 'value')
end
"""
"""Names as entries of living tables have them, so that no pattern leaves them out."""


def populate(server: RedisServer, keys: int) -> None:
    for first in range(0, keys, _AT_ONCE):
        server.command("EVAL", _POPULATE, 0, first, min(first + _AT_ONCE, keys) - 1)


@asynccontextmanager
async def gateways_on(server: RedisServer, folder: Path, count: int) -> AsyncIterator[list[Gateway]]:
    """So many processes."""
    config = merged(BASE, {"store": {"kind": "redis", "url": server.url}})
    config = merged(config, {"rate_limit": {"requests_per_minute": 10_000_000}})
    async with AsyncExitStack() as stack:
        running = []
        for number in range(count):
            place = folder / str(number)
            place.mkdir()
            process = stack.enter_context(await asyncio.to_thread(GatewayProcess, config, place))
            running.append(await stack.enter_async_context(client_of(process)))
        yield running


async def delete_tables(gateway: Gateway, count: int, *, entries: int = 5) -> None:
    """Tables of apps of their own, each with some entries."""
    for number in range(count):
        app = f"{APPS}/doomed-{number}"
        await gateway.manage("PUT", app, {"type": "api"})
        created = await gateway.manage("POST", f"{app}/services/kvs/tables", {"name": "t"})
        assert created.status == 201, created.body
        for key in range(entries):
            assert (await gateway.put(f"key {key}", key, token=created.json["token"])).status == 200
    for number in range(count):
        assert (await gateway.manage("DELETE", f"{APPS}/doomed-{number}")).status < 300


async def dropped(gateway: Gateway) -> float:
    """Tables that this replica has dropped so far."""
    return total(parse((await gateway.ask_ops("/metrics/service")).body), "kvs_reclaim_tables_dropped_total")


async def latencies(gateway: Gateway, seconds: float, callers: int = 2) -> list[float]:
    """Returns latencies of puts and gets in seconds; each caller pauses between its calls."""
    ends_at = time.perf_counter() + seconds
    found: list[float] = []

    async def call(caller: int) -> None:
        number = 0
        while time.perf_counter() < ends_at:
            began = time.perf_counter()
            reply = await (gateway.get if number % 2 else gateway.put)(
                f"{caller}", *([] if number % 2 else [number])
            )
            found.append(time.perf_counter() - began)
            assert reply.status == 200, reply.body
            number += 1
            await asyncio.sleep(0.005)

    await asyncio.gather(*map(call, range(callers)))
    return found
