"""A gateway with a credentials listener."""

import pytest

from tests.credentialsplane.workloads import configured, vouched
from tests.support.gateway import run_gateway


@pytest.fixture
async def fetching():
    async with run_gateway(configured()) as running:
        yield running


@pytest.fixture
async def trusting(tmp_path):
    """A gateway that also trusts an issuer."""
    async with run_gateway(vouched(tmp_path)) as running:
        yield running
