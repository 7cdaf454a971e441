"""The scripted server itself closes every connection that it accepted."""

import asyncio
import gc
import socket
import warnings

import pytest

from tests.system.clients.scripted import ScriptedServer
from tests.system.clients.steps import Step

TURNS = range(8)
"""Turns of the loop between a connection and the end of the server: each step of accepting is met."""


@pytest.mark.parametrize("turns", TURNS)
async def test_a_connection_that_arrives_while_the_server_ends_is_closed(turns):
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        async with ScriptedServer([Step(silent=True)]) as server:
            await asyncio.sleep(0)
            client = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
            for _ in range(turns):
                await asyncio.sleep(0)
        gc.collect()
    client.close()
    assert [str(each.message) for each in unclosed] == []
