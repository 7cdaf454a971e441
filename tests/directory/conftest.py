"""Fixtures: a region and two of its replicas."""

import asyncio

import pytest

from tests.directory.region import Region, Replica
from tests.support.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config, item):
    """Uses a loop in virtual time for marked tests: all peers run on it."""
    hurries = item.get_closest_marker("virtual_time")
    return {"asyncio": VirtualTimeLoop if hurries else asyncio.new_event_loop}


@pytest.fixture
def region() -> Region:
    return Region()


@pytest.fixture
async def replica(region) -> Replica:
    """A replica that has an app."""
    replica = await region.replica().register_retention()
    await replica.register()
    return replica


@pytest.fixture
async def other(region) -> Replica:
    return await region.replica().register_retention()
