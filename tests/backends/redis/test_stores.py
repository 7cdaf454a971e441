"""The conformance suite for replicas that share one Redis server.

Its rules do not depend on TLS or the server's user: `test_tls` calls each port once over TLS as a named user.
"""

import pytest

from tests.backends.redis.conformance import RedisConformance
from tests.support.redis import RedisServer


class TestStandalone(RedisConformance):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def server(cls):
        with RedisServer() as server:
            cls.servers, cls.settings = (server,), {"url": server.url}
            yield
