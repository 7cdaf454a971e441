"""Connections to one Redis, and the loops that tests of them run on."""

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
    """A module that says so runs on the gateway's own loop, too; its details differ from asyncio's."""
    if item.get_closest_marker("virtual_time"):
        return {"virtual": VirtualTimeLoop}
    factories = {"asyncio": asyncio.new_event_loop}
    if getattr(item.module, "RUNS_ON_UVLOOP_TOO", False):
        factories["uvloop"] = uvloop.new_event_loop
    return factories


@pytest.fixture(scope="module", autouse=True)
def deadlines(request):
    """Those of production for modules that say so."""
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
    """Fails a test after which the loop has something to complain about."""
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    yield
    await asyncio.sleep(0)
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []


@pytest.fixture
async def connect(quiet_loop):
    """Connects to a port; what the test does not end is ended."""
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
