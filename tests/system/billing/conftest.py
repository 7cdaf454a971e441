"""Prometheus and Redis for a module; a test has its own gateways, its own places, and its own period."""

from contextlib import ExitStack

import pytest

from tests.support.ports import free_port
from tests.support.prometheus import PrometheusServer
from tests.support.redis import RedisServer
from tests.system.billing.site import Place, Site

TOGETHER = {"kvs": "/metrics"}
APART = {"kvs-usage": "/metrics/usage", "kvs-service": "/metrics/service"}
FEW_SAMPLES = 2_000
PLACES = 12


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as server:
        yield server


def different_ports():
    """A port that two places share would be scraped by both servers, and a drain waits for one of them."""
    taken = set()
    while True:
        if (port := free_port()) not in taken:
            taken.add(port)
            yield port


@pytest.fixture(scope="module")
def watched():
    """One Prometheus, and the addresses that it scrapes, by arrangement of scrapes.

    Prometheus is slow to begin with targets that are new to it. That of `apart` loads few samples at once.
    """
    servers = {
        "together": PrometheusServer(TOGETHER),
        "apart": PrometheusServer(APART, flags=[f"--query.max-samples={FEW_SAMPLES}"]),
    }
    ports = different_ports()
    places = {name: [Place(next(ports), next(ports)) for _ in range(PLACES)] for name in servers}
    with ExitStack() as running:
        for name, server in servers.items():
            server.scrape(*(place.ops_url for place in places[name]))
            running.enter_context(server)
        yield {name: (server, places[name]) for name, server in servers.items()}


@pytest.fixture
async def site(request, tmp_path, redis, watched):
    prometheus, places = watched[getattr(request, "param", "together")]
    site = Site(tmp_path, redis, prometheus, places)
    yield site
    await site.close()
