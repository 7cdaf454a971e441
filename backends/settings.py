"""The settings of each store, in YAML under `store:` and `counters:`. Importing it loads no driver."""

from backends.dynamodb.settings import DynamoSettings
from backends.memory.settings import MemorySettings
from backends.redis.settings import RedisSettings

__all__ = ["DynamoSettings", "MemorySettings", "RedisSettings", "StoreSettings"]

StoreSettings = MemorySettings | RedisSettings | DynamoSettings
