"""Fixtures that most tests share."""

import os

import pytest
from hypothesis import settings

from tests.support.clock import FakeClock
from tests.support.gateway import run_gateway

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")  # there, the same commit gives the same result


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def gateway():
    """A running gateway on the base configuration."""
    async with run_gateway() as running:
        yield running
