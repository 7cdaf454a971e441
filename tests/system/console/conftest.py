"""A browser, a gateway with a limited caller beside the one who may do everything, and a visitor."""

from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway
from tests.system.billing.test_usage_of_an_app import prometheus
from tests.system.console.chromium import running_browser
from tests.system.console.visit import visiting

__all__ = ["prometheus"]  # a fixture, which the pages of usage share

READER = "reader-control-token"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs the tests of this folder on one event loop, which their common browser needs."""
    for item in filter(pytest_asyncio.is_async_test, items):
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.asyncio(loop_scope="package"), append=False)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser():
    async with running_browser() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="package")
async def gateway():
    reader = {"name": "reader", "token": READER, "allow": ["read"], "orgs": ["acme"], "apps": ["sho*"]}
    async with run_gateway({"control": {"tokens": [CONTROL_TOKEN, reader]}}) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="package")
async def visit(browser, gateway):
    async with visiting(browser, gateway) as visit:
        yield visit
        assert visit.faults == []
