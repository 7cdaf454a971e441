"""A browser, a gateway with a limited caller beside the one who may do everything, and a visitor."""

import pytest

from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway
from tests.system.billing.test_usage_of_an_app import prometheus
from tests.system.console.chromium import running_browser
from tests.system.console.visit import visiting

__all__ = ["prometheus"]  # a fixture, which the pages of usage share

READER = "reader-control-token"


@pytest.fixture
async def browser():
    async with running_browser() as browser:
        yield browser


@pytest.fixture
async def gateway():
    reader = {"name": "reader", "token": READER, "allow": ["read"], "orgs": ["acme"], "apps": ["sho*"]}
    async with run_gateway({"control": {"tokens": [CONTROL_TOKEN, reader]}}) as running:
        yield running


@pytest.fixture
async def visit(browser, gateway):
    async with visiting(browser, gateway) as visit:
        yield visit
        assert visit.faults == []
