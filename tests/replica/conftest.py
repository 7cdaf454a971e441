"""Gateways in processes of their own, and loops whose clock hurries."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.config import BASE, merged
from tests.support.process import GatewayProcess
from tests.support.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config, item):
    virtual = item.get_closest_marker("virtual_time")
    return {"loop": VirtualTimeLoop if virtual else asyncio.new_event_loop}


@pytest.fixture
def start(tmp_path):
    """Starts a gateway with these changes of its configuration; it is killed if the test does not end it."""
    yield from _starting(tmp_path)


@pytest.fixture(scope="module")
def start_shared(tmp_path_factory):
    """Starts gateways that the tests of a module share, as none of them ends its gateway."""
    yield from _starting(tmp_path_factory.mktemp("shared"))


def _starting(path: Path) -> Iterator[Callable[..., GatewayProcess]]:
    started = []

    def start(*, env=None, launcher=(), module="gateway", **changes) -> GatewayProcess:
        folder = path / str(len(started))
        folder.mkdir()
        off = {"signature": {"mode": "off"}, "rate_limit": {"requests_per_minute": 1_000_000}}
        started.append(GatewayProcess(merged(merged(BASE, off), changes), folder, env, launcher, module))
        return started[-1]

    yield start
    for process in started:
        process.__exit__()
