"""The single-table layout: keys and attributes of items, and their decoding.

| pk                     | sk     | attributes                        |
| ---------------------- | ------ | --------------------------------- |
| `e#<keyspace>#<shard>` | key    | v value, x expires at (ms), r revision; i in place of v: integer |
| `n#<home>`             | `n`    | d counts of the tables            |
| `w#<bucket>`           | `w`    | n charges, c closes at (ms)       |
| `r#<shard>`            | name   | d document, r version             |
| `c`                    | number | m name of a changed record        |
| `c`                    | `next` | n the last number given           |

Items that expire have `t`, the second from which DynamoDB may collect them. A partition key takes about 1,000
writes and 3,000 strong reads a second, so the entries of a table, and the records, are spread over shards by
a checksum of their key (D101). A bucket has one item, because its count must be one number.
"""

from typing import Any, Generic, TypeVar
from zlib import crc32

import msgspec
from msgspec import Raw, Struct, field

from backends.errors import BackendUnavailable, CorruptEntry
from backends.interface import Keyspace

SHARDS = 16
TTL_ATTRIBUTE = "t"
KEY_SCHEMA = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
ATTRIBUTES = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]

NOT_DYNAMODB = "does not speak the protocol of DynamoDB"

Value = dict[str, Any]
"""A value in DynamoDB's JSON: the letter of its type, and the value."""

Key = dict[str, Value]
Kind = TypeVar("Kind")
Item = TypeVar("Item")


def entry_key(keyspace: Keyspace, key: str) -> Key:
    """Returns the key of an entry."""
    return _key(f"e#{keyspace}#{_shard(key)}", key)


def entry_partition(keyspace: Keyspace, shard: int) -> Value:
    """Returns the partition key of one of the `SHARDS` of a keyspace, counted from 0."""
    return {"S": f"e#{keyspace}#{shard:x}"}


def count_key(home: str) -> Key:
    """Returns the key of the counts of a home."""
    return _key(f"n#{home}", "n")


def window_key(bucket: str) -> Key:
    """Returns the key of a window counter."""
    return _key(f"w#{bucket}", "w")


def record_key(name: str) -> Key:
    """Returns the key of a record."""
    return _key(f"r#{_shard(name)}", name)


def record_partitions() -> list[Value]:
    """Returns all partition keys of records."""
    return [{"S": f"r#{shard:x}"} for shard in range(SHARDS)]


def change_key(number: int) -> Key:
    """Returns the key of an announcement of the feed."""
    return _key("c", f"{number:020d}")


def change_counter_key() -> Key:
    """Returns the key of the feed's counter, which sorts after all announcements."""
    return _key("c", "next")


def number(value: int) -> Value:
    """Encodes a number, which DynamoDB takes as text."""
    return {"N": str(value)}


def collectable_from(instant_ms: int) -> Value:
    """Encodes the second, rounded up, from which DynamoDB may collect an item."""
    return number(-(-instant_ms // 1000))


class Text(Struct, frozen=True):
    """A string attribute."""

    value: str = field(name="S")


class Number(Struct, frozen=True):
    """A number attribute; always an integer here."""

    digits: str = field(name="N")

    def __int__(self) -> int:
        try:
            return int(self.digits)
        except ValueError:
            raise CorruptEntry("a number in DynamoDB was not written by this gateway") from None


class Binary(Struct, frozen=True):
    """A binary attribute; DynamoDB sends it in base64."""

    value: bytes = field(name="B")


class GetItemOutput(Struct, Generic[Item], frozen=True):
    """Output of GetItem."""

    item: Item | None = field(name="Item", default=None)


class UpdateItemOutput(Struct, Generic[Item], frozen=True):
    """Output of UpdateItem."""

    attributes: Item = field(name="Attributes")


class QueryOutput(Struct, Generic[Item], frozen=True):
    """Output of Query: one page. `last` is the start key of the next page, empty on the last one.

    `scanned` also counts items that a filter has left out.
    """

    items: list[Item] = field(name="Items")
    last: Raw = field(name="LastEvaluatedKey", default=Raw())
    scanned: int = field(name="ScannedCount", default=0)


def decode(body: bytes | Raw, kind: type[Kind]) -> Kind:
    """Decodes a body. Raises CorruptEntry for an item that this gateway cannot have written."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        raise CorruptEntry("an item in DynamoDB was not written by this gateway") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BackendUnavailable(NOT_DYNAMODB) from None


def _key(partition: str, sort: str) -> Key:
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def _shard(name: str) -> str:
    return f"{crc32(name.encode()) % SHARDS:x}"
