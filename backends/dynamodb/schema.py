"""One table for everything. What it costs is in `docs/stores.md`, how it spreads in D101.

| pk                     | sk     | attributes                        |
| ---------------------- | ------ | --------------------------------- |
| `e#<keyspace>#<shard>` | key    | v value, x expires at (ms)        |
| `w#<bucket>`           | `w`    | n charges, c closes at (ms)       |
| `r#<shard>`            | name   | d document, r version             |

Where it applies, `t` is the second from which DynamoDB may collect the item.
"""

from typing import Any
from zlib import crc32

from backends.interface import Keyspace

SHARDS = 16
"""How many partition keys a table has; each takes about 1,000 writes and 3,000 strong reads a second."""

TTL_ATTRIBUTE = "t"

KEY_SCHEMA = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
ATTRIBUTES = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]

Value = dict[str, Any]
"""A value as DynamoDB writes it: its type's letter, and itself."""

Key = dict[str, Value]


def entry_key(keyspace: Keyspace, key: str) -> Key:
    """Where an entry is."""
    return _key(f"e#{keyspace}#{_shard(key)}", key)


def entry_partitions(keyspace: Keyspace) -> list[Value]:
    """All partition keys that entries of a table can have."""
    return [{"S": f"e#{keyspace}#{shard:x}"} for shard in range(SHARDS)]


def window_key(bucket: str) -> Key:
    """Where a counter is."""
    return _key(f"w#{bucket}", "w")


def record_key(name: str) -> Key:
    """Where a record is."""
    return _key(f"r#{_shard(name)}", name)


def record_partitions() -> list[Value]:
    """All partition keys that records can have."""
    return [{"S": f"r#{shard:x}"} for shard in range(SHARDS)]


def number(value: int) -> Value:
    """A number, which DynamoDB takes as text."""
    return {"N": str(value)}


def collectable_from(instant_ms: int) -> Value:
    """The second, rounded up, in which `instant_ms` is over."""
    return number(-(-instant_ms // 1000))


def _key(partition: str, sort: str) -> Key:
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def _shard(name: str) -> str:
    return f"{crc32(name.encode()) % SHARDS:x}"
