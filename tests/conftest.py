"""Fixtures that most tests share."""

import pytest

from tests.support.clock import FakeClock
from tests.support.gateway import run_gateway


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def gateway():
    """A running gateway on the base configuration."""
    async with run_gateway() as running:
        yield running
