"""One Redis and one Prometheus per arrangement of scrapes; a test has its own gateways and its own period."""

import pytest

from tests.billing.site import TOGETHER, Place, Site
from tests.support.prometheus import PrometheusServer
from tests.support.redis import RedisServer


@pytest.fixture(scope="module")
def places():
    """More than gateways: Prometheus is slow to begin with targets that are new to it."""
    return [Place() for _ in range(12)]


@pytest.fixture(scope="module")
def prometheus(places, request):
    server = PrometheusServer(getattr(request, "param", TOGETHER))
    server.scrape(*(place.ops_url for place in places))
    with server:
        yield server


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as server:
        yield server


@pytest.fixture
async def site(tmp_path, redis, prometheus):
    site = Site(tmp_path, redis, prometheus)
    yield site
    await site.close()
