"""Servers of tests lose no connection that arrives while they end: its socket would stay open."""

import asyncio
import gc
import socket
import warnings
from functools import partial

import pytest

from tests.identity.issuer import issuing
from tests.support.link import Link
from tests.support.redis.scripted import ScriptedRedis

TURNS = range(8)
"""Turns of the loop between a connection and the end of a server: each step of accepting is met."""
SERVERS = {
    "link": partial(Link, 1),
    "Redis": partial(ScriptedRedis, lambda _: None),
    "issuer": issuing,
}


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_connection_that_arrives_while_a_server_ends_is_closed(kind, turns):
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(_connect(SERVERS[kind], turns)).close()
        gc.collect()
    assert [str(each.message) for each in unclosed] == []


async def _connect(kind, turns) -> socket.socket:
    async with kind() as server:
        await asyncio.sleep(0)
        port = server.port if hasattr(server, "port") else int(server.url.rpartition(":")[2])
        client = socket.create_connection(("127.0.0.1", port))
        for _ in range(turns):
            await asyncio.sleep(0)
    return client
