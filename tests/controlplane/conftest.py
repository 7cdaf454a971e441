"""A gateway on which one managed app is registered."""

import pytest

from tests.controlplane.paths import BLOG


@pytest.fixture
async def blog(gateway):
    await gateway.manage("PUT", BLOG, {"type": "api"})
    return gateway
