"""Requests leave nothing behind: memory, open files and connections are as before, whatever their number."""

import asyncio
from collections import Counter

import pytest

from lab.faults.fleet import Fleet
from lab.faults.flood import calls_of
from lab.faults.watch import files_of, memory_of
from tests.support.evidence import note_statuses
from tests.support.gateway import Gateway
from tests.support.process import PATIENT
from tests.support.redis import RedisServer
from tests.support.wire import until

MEGABYTE = 1_000_000
BATCH = 60
OK = b"HTTP/1.1 200 OK\r\n"
CONNECTIONS = 16


async def ask(gateway: Gateway, requests: int) -> None:
    """Pipelined, so that it is the gateway that has to work."""
    batch = b"".join(calls_of(gateway)) * (BATCH // 3)
    turns = iter(range(requests // BATCH))

    async def client() -> None:
        reader, writer = await gateway.connect()
        for _ in turns:
            writer.write(batch)
            answered, end = 0, b""
            while answered < BATCH:
                data = end + await reader.read(65_536)
                assert len(data) > len(end), "the connection ended"
                answered += data.count(OK)
                end = data[-(len(OK) - 1) :]
        writer.transport.abort()

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    note_statuses(Counter({200: requests // BATCH * BATCH}))


@pytest.mark.parametrize("kind", ["redis", pytest.param("memory", marks=pytest.mark.heavy)])
@pytest.mark.parametrize(
    ("first", "then", "grown_at_most"),
    [(6_000, 9_000, 3 * MEGABYTE), pytest.param(100_020, 900_000, 5 * MEGABYTE, marks=pytest.mark.heavy)],
    ids=["15,000 requests", "a million requests"],
)
async def test_after_the_first_requests_nothing_grows(tmp_path, kind, first, then, grown_at_most):
    with RedisServer() as server:
        store = {"kind": "redis", "url": server.url} if kind == "redis" else {"kind": "memory"}
        async with Fleet(tmp_path, [{"store": store}], module=PATIENT) as fleet:
            (gateway,), (process,) = fleet.gateways, fleet.processes
            await ask(gateway, first)
            files, memory = files_of(process), memory_of(process)
            await ask(gateway, then)
            assert memory_of(process) - memory < grown_at_most
            await until(lambda: files_of(process) <= files + 1)
            metrics = await gateway.metrics()
    assert metrics["kvs_requests_in_flight"] == 0
    assert sum(value for name, value in metrics.items() if name.startswith("kvs_usage_requests")) == sum(
        requests // BATCH * BATCH for requests in (first, then)
    )
