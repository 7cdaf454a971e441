"""Stores behind three small ports, one adapter each. No adapter knows HTTP, apps, tokens or metrics.

interface   the ports and the values that they exchange
errors      the errors that a store may raise
clock       wall time and monotonic time
breaker     the circuit breaker
background  steps repeated in the background
paging      all records of a prefix, page by page
settings    the settings of each store
memory      in this process
redis       Redis: one server, Sentinel or Cluster
dynamodb    one DynamoDB table

`open_backend` alone names the adapters: a new one adds an arm here, and its settings to `settings`.
"""

from typing import assert_never

from backends.clock import Clock
from backends.interface import Backend
from backends.settings import DynamoSettings, MemorySettings, RedisSettings, StoreSettings

__all__ = ["open_backend"]


async def open_backend(settings: StoreSettings, clock: Clock) -> Backend:
    """Builds the adapter for `settings`. The store need not be reachable yet: see `Backend.ping`."""
    match settings:
        case MemorySettings():
            from backends.memory.backend import MemoryBackend  # noqa: PLC0415 - loads only the chosen driver

            return MemoryBackend(settings, clock)
        case RedisSettings():
            from backends.redis.backend import RedisBackend  # noqa: PLC0415 - see above

            return RedisBackend(settings, clock)
        case DynamoSettings():
            from backends.dynamodb.backend import DynamoBackend  # noqa: PLC0415 - see above

            return DynamoBackend(settings, clock)
        case _ as unreachable:
            assert_never(unreachable)
