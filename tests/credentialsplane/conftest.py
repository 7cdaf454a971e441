"""A gateway with a credentials listener."""

import pytest

from tests.credentialsplane.workloads import configured
from tests.support.gateway import run_gateway


@pytest.fixture
async def fetching():
    async with run_gateway(configured()) as running:
        yield running
