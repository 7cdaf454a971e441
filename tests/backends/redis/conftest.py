"""Fixtures of the Redis tests: servers, connections, event loops, deadlines."""

import asyncio
import gc

import pytest
import uvloop

from backends.redis.wire.connection import Connection
from tests.support.link import HOST, Link
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config, item):
    """Runs modules about sockets and TLS on uvloop, the gateway's loop; its details differ from asyncio's."""
    if item.get_closest_marker("virtual_time"):
        return {"virtual": VirtualTimeLoop}
    if getattr(item.module, "RUNS_ON_UVLOOP", False):
        return {"uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}


@pytest.fixture(scope="module", autouse=True)
def deadlines(request):
    """Long deadlines, except in modules that ask for those of production."""
    if getattr(request.module, "DEADLINES_OF_PRODUCTION", False):
        yield
    else:
        with deadlines_of():
            yield


@pytest.fixture
def long_deadlines():
    with deadlines_of():
        yield


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def empty(server):
    server.command("FLUSHALL")


@pytest.fixture
async def quiet_loop():
    """Fails a test that leaves an unhandled exception in the event loop."""
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    yield
    await asyncio.sleep(0)
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []


@pytest.fixture
async def connect(quiet_loop):
    """Connects to a port; connections that are still open at the end are ended."""
    opened = []

    async def connect(port: int) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(Connection, HOST, port)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.end("the test is over")
    await asyncio.sleep(0)


@pytest.fixture
async def connection(connect, server):
    return await connect(server.port)


@pytest.fixture
async def link(server):
    async with Link(server.port) as link:
        yield link
