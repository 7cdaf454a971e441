"""Fixtures: a clock, a listening issuer, and a verifier of its tokens."""

import pytest
import uvloop

from gateway.identity.issuer_keys import IssuerKeys
from gateway.identity.web_tokens import TrustedIssuer, WebTokens
from gateway.replica.background import fetch_keys
from tests.identity.issuer import AUDIENCE, ISSUER, issuing
from tests.support.clock import FakeClock
from tests.support.virtual_time import VirtualTimeLoop


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def issuer():
    async with issuing() as server:
        yield server


@pytest.fixture
async def keys(issuer, clock):
    keys = IssuerKeys(ISSUER, issuer.url, fetch_keys, clock)
    yield keys
    await keys.close()


@pytest.fixture
def tokens(keys, clock):
    """A verifier whose subject is the claims themselves."""
    return WebTokens({ISSUER: TrustedIssuer(ISSUER, AUDIENCE, keys)}, lambda claims: claims, clock)


def pytest_asyncio_loop_factories(config, item):
    """Uses the production loop, and a fast clock where a test asks for virtual time."""
    return {"loop": VirtualTimeLoop if item.get_closest_marker("virtual_time") else uvloop.new_event_loop}
