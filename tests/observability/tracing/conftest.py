"""A receiver, and gateways that send it their traces."""

from contextlib import asynccontextmanager

import pytest

from tests.support.config import merged
from tests.support.gateway import run_gateway
from tests.support.receiver import Receiver


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def traced(receiver):
    """Run a gateway that traces every request; what it did has arrived when the block ends."""

    @asynccontextmanager
    async def run(changes=None, **options):
        tracing = {"tracing": {"endpoint": receiver.url, "share": 1}}
        async with run_gateway(merged(tracing, changes or {}), **options) as gateway:
            yield gateway

    return run
