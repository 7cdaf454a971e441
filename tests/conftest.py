"""Fixtures that many tests share."""

import gc
import io
import json
import logging
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gateway.observability.logs import JsonFormatter
from tests.support.audit import audit_lines, faults_of
from tests.support.clock import FakeClock
from tests.support.dynamodb import OTHER_ENGINES, close_shared_engines
from tests.support.gateway import run_gateway

# The same commit gives the same result; `make flaky` and `make fuzz` draw other inputs.
# Times are no part of a property: a stalled machine takes seconds to generate its first inputs.
settings.register_profile(
    "same inputs", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same inputs")

SYSTEM = Path(__file__).with_name("system")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what `make test-all` runs; `make test` runs all the rest."""
    for item in items:
        if item.path.is_relative_to(SYSTEM) or _runs_on_another_engine(item):
            item.add_marker("test_all")


def pytest_collection_finish() -> None:
    """Freezes the collected tests: the garbage collector need not traverse 8,000 of them again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    close_shared_engines()


def _runs_on_another_engine(item: pytest.Item) -> bool:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return parameters.get("engine") in OTHER_ENGINES


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def gateway():
    """A running gateway on the base configuration."""
    async with run_gateway() as running:
        yield running


@pytest.fixture(autouse=True)
def _audit_lines_fit_their_schema():
    """Whatever a test asks for."""
    with audit_lines() as written:
        yield
    for line in written.lines:
        assert faults_of(line) == [], line


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
