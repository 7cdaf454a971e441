"""Engines, credentials and where they come from, and loops for tests in which nobody needs to wait."""

import asyncio
import os
import uuid

import pytest

from backends.dynamodb import credentials
from tests.backends.dynamodb.conformance import suited_to_engines
from tests.backends.dynamodb.scripted import prepared_endpoint
from tests.backends.dynamodb.sources import Irsa, PodIdentity
from tests.support.dynamodb import ENGINES, ENVIRONMENT, ScriptedEndpoint
from tests.support.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config, item):
    """Tests against a scripted endpoint run on one loop and may use virtual time."""
    is_alone = not {"engine", "ministack", "hanging_thread"} & set(item.fixturenames)
    hurries = is_alone and item.get_closest_marker("virtual_time")
    return {"asyncio": VirtualTimeLoop if hurries else asyncio.new_event_loop}


@pytest.fixture(scope="session", params=ENGINES, ids=lambda kind: kind.name)
def engine(request):
    """A running engine; each test works in a table of its own."""
    return request.param.shared()


@pytest.fixture(scope="module")
def engine_credentials():
    """Credentials and the patience that engines need."""
    with suited_to_engines():
        yield


@pytest.fixture
async def endpoint():
    """An endpoint whose replies a test scripts."""
    async with prepared_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def table_name():
    return f"kvs-{uuid.uuid4().hex}"


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Credentials in the environment, and none from where else this machine may have some."""
    for name in [name for name in os.environ if name.startswith("AWS_") and name != "AWS_CA_BUNDLE"]:
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def nothing(environment):
    """No credentials anywhere."""
    environment.delenv("AWS_ACCESS_KEY_ID")
    environment.delenv("AWS_SECRET_ACCESS_KEY")
    return environment


@pytest.fixture
async def source():
    """Endpoint of a credential source."""
    async with ScriptedEndpoint() as source:
        yield source


@pytest.fixture
def often(environment):
    """Credentials are looked for all the time."""
    environment.setattr(credentials, "REFRESH_SECONDS", 0.02)
    environment.setattr(credentials, "COOLDOWN_SECONDS", 0.05)


@pytest.fixture(params=[Irsa, PodIdentity])
def pod(request, nothing, tmp_path, source):
    return request.param(nothing, tmp_path, source)
