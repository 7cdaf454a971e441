"""Fixtures that many tests share."""

import io
import json
import logging
import os

import pytest
from hypothesis import settings

from gateway.observability.logs import JsonFormatter
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


@pytest.fixture
def lines():
    """The lines of one logger from now on, as operators see them."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lambda logger: [
        line for text in written.getvalue().splitlines() if (line := json.loads(text))["logger"] == logger
    ]
    root.setLevel(level)
    root.removeHandler(handler)
