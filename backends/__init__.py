"""Stores behind small ports, one adapter each. No adapter knows HTTP, apps, tokens or metrics.

backend     an open store, its settings and its warnings
tables      what tables hold: operations, their charges, and the ports that execute them
interface   the ports of counters and records
effects     effects of operations, for stores that compute them in this process
sequential  steps in two parts: the charges, then the operations
errors      the errors that a store may raise
clock       wall time and monotonic time
breaker     the circuit breaker
background  steps repeated in the background
sockets     options of sockets to stores
paging      all records of a prefix, page by page
memory      in this process
redis       Redis: one server, Sentinel or Cluster
dynamodb    one DynamoDB table

Only this file names adapters. A new one adds its settings to `StoreSettings`, and an arm to `open_backend`.
Importing it loads no driver.
"""

from typing import assert_never

from backends.backend import Backend
from backends.clock import Clock
from backends.dynamodb.settings import DynamoSettings
from backends.memory.backend import MemoryBackend, MemorySettings
from backends.redis.settings import RedisSettings

__all__ = ["DynamoSettings", "MemorySettings", "RedisSettings", "StoreSettings", "open_backend"]

StoreSettings = MemorySettings | RedisSettings | DynamoSettings
"""The settings of each store, in YAML under `store:` and `counters:`."""


async def open_backend(settings: StoreSettings, clock: Clock) -> Backend:
    """Builds the adapter for `settings`. The store need not be reachable yet: see `Backend.ping`."""
    match settings:
        case MemorySettings():
            return MemoryBackend(settings, clock)
        case RedisSettings():
            from backends.redis.backend import RedisBackend  # noqa: PLC0415 - loads only the chosen driver

            return RedisBackend(settings, clock)
        case DynamoSettings():
            from backends.dynamodb.backend import DynamoBackend  # noqa: PLC0415 - see above

            return DynamoBackend(settings, clock)
        case _ as unreachable:
            assert_never(unreachable)
