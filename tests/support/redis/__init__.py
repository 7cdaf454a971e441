"""Real Redis servers for tests, as context managers that leave nothing behind.

All methods are synchronous, which suits fixtures of any scope. `kill`, `stop` and `resume` do not wait.
Methods that wait, such as `start`, belong into `asyncio.to_thread` where a gateway runs in the same loop.
"""

from tests.support.redis.cluster import Cluster
from tests.support.redis.sentinel import Sentinels
from tests.support.redis.server import RedisServer, is_master, is_replica, role_of
from tests.support.redis.tls import TlsServer

__all__ = ["Cluster", "RedisServer", "Sentinels", "TlsServer", "is_master", "is_replica", "role_of"]
