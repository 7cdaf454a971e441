"""Replicas that share one Redis server."""

import pytest

from tests.backends.redis.conformance import RedisConformance
from tests.support.redis import RedisServer, TlsServer


class TestStandalone(RedisConformance):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def server(cls):
        with RedisServer() as server:
            cls.servers, cls.settings = (server,), {"url": server.url}
            yield


class TestTlsWithNamedUser(RedisConformance):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def server(cls):
        with TlsServer() as server:
            cls.servers, cls.settings = (server,), {"url": server.url, "ca_file": str(server.ca_file)}
            yield
