"""Stores behind three small ports (`interface`), one adapter each.

interface   the ports: entries, counters, records, and a backend that has all three
errors      what the ports raise
settings    what an adapter is told about its store
clock       wall and monotonic time
breaker     circuit breaker: opens after five consecutive failures; lets one probe through per second
background  a step that is repeated with a pause, until it is closed
memory      adapter: everything in this process
redis       adapter: a Redis server, behind Sentinel, or a Cluster
dynamodb    adapter: one DynamoDB table

No adapter knows HTTP, apps, tokens or metrics. `open_backend` is the one place
that names them; a new adapter adds a settings class and an arm here.
"""

from typing import assert_never

from backends.clock import Clock
from backends.interface import Backend
from backends.settings import DynamoSettings, MemorySettings, RedisSettings, StoreSettings

__all__ = ["open_backend"]


async def open_backend(settings: StoreSettings, clock: Clock) -> Backend:
    """Build the adapter that `settings` choose. It need not be reachable yet: see `Backend.ping`."""
    match settings:
        case MemorySettings():
            from backends.memory import MemoryBackend  # noqa: PLC0415 - a driver is loaded only if it is chosen

            return MemoryBackend(settings, clock)
        case RedisSettings():
            from backends.redis.backend import RedisBackend  # noqa: PLC0415 - see above

            return RedisBackend(settings, clock)
        case DynamoSettings():
            from backends.dynamodb.backend import DynamoBackend  # noqa: PLC0415 - see above

            return DynamoBackend(settings, clock)
        case _ as unreachable:
            assert_never(unreachable)
