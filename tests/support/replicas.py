"""Gateways in processes of their own, on a Redis that is not."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.config import BASE, merged
from tests.support.gateway import Gateway
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.redis import RedisServer
from tests.support.stopwatch import PATIENCE_SECONDS

UNLIMITED = {"rate_limit": {"requests_per_minute": 1_000_000}}


@asynccontextmanager
async def replicas(
    server: RedisServer, folder: Path, count: int = 1, *, module: str = "gateway", **changes: Any
) -> AsyncIterator[list[GatewayProcess]]:
    """As many gateways that share one Redis, with these changes of their configuration; killed at the end."""
    store = {"store": {"kind": "redis", "url": server.url}, **UNLIMITED}
    config = merged(merged(BASE, store), changes)
    folders = [folder / f"replica{number}" for number in range(count)]
    for each in folders:
        each.mkdir()
    async with AsyncExitStack() as started:
        attempts = [asyncio.to_thread(GatewayProcess, config, each, module=module) for each in folders]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        processes = [process for process in outcomes if isinstance(process, GatewayProcess)]
        for process in processes:
            started.push_async_callback(asyncio.to_thread, process.__exit__)
        assert len(processes) == count, outcomes
        yield processes
        for process in processes:
            assert [
                *log_of(process, "asyncio"),
                *log_of(process, "kvs.pipeline"),
            ] == []  # no exception was unhandled


@asynccontextmanager
async def clients_of(processes: list[GatewayProcess]) -> AsyncIterator[list[Gateway]]:
    """Clients of gateways, once all of these are ready."""
    async with AsyncExitStack() as opened:
        gateways = [await opened.enter_async_context(client_of(process)) for process in processes]
        for gateway in gateways:
            await until_ready(gateway)
        yield gateways


async def until_ready(gateway: Gateway, seconds: float = PATIENCE_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while (await gateway.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.02)


async def new_table(gateway: Gateway, name: str, app: str = "blog") -> str:
    """The token of a new table of an app that is not declared: its binding is read from the store."""
    path = f"/v1/orgs/acme/apps/{app}"
    assert (await gateway.manage("PUT", path, {"type": "api"})).status in (200, 201)
    made = await gateway.manage("POST", f"{path}/services/kvs/tables", {"name": name})
    assert made.status == 201, made
    return made.json["token"]


def log_of(process: GatewayProcess, logger: str) -> list[dict[str, Any]]:
    """Returns the lines that a gateway has logged under this name so far."""
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    return [line for line in lines if line["logger"] == logger]
