"""A region, and two of its replicas."""

import pytest

from tests.directory.region import Region, Replica


@pytest.fixture
def region() -> Region:
    return Region()


@pytest.fixture
async def replica(region) -> Replica:
    """A replica that has an app."""
    replica = region.replica()
    await replica.register()
    return replica


@pytest.fixture
def other(region) -> Replica:
    return region.replica()
