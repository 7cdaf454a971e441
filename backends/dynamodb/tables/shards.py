"""Ranges of keys in the shards of a table, read in their order."""

from typing import Any

from msgspec import Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action
from backends.dynamodb.items import QueryOutput, Text, Value, decode, entry_partition, number
from backends.dynamodb.tables.items import IS_LIVE, EntryItem
from backends.tables import ListEntries, Table

_LAST_CHARACTER = "\U0010ffff"
_KEY_BYTES = 512


class _Position(Struct, frozen=True):
    key: Text = field(name="sk")


class KeyRange(Struct, frozen=True):
    """The keys behind `after` that begin with a prefix, as a condition on sort keys."""

    least: str
    most: str | None

    @classmethod
    def of(cls, listing: ListEntries) -> "KeyRange":
        least = max(listing.prefix, f"{listing.after}\0" if listing.after else "")
        if not listing.prefix:
            return cls(least, None)
        rest = (_KEY_BYTES - len(listing.prefix.encode())) // len(_LAST_CHARACTER.encode()) + 1
        return cls(least, listing.prefix + _LAST_CHARACTER * rest)

    @property
    def is_empty(self) -> bool:
        return self.most is not None and self.least > self.most

    def query(self, partition: Value, after: str) -> tuple[str, dict[str, Value]]:
        """Returns the condition on the keys of a partition behind `after`, and its values."""
        least = max(self.least, f"{after}\0" if after else "")
        values = {":pk": partition}
        if self.most is not None:
            values |= {":least": {"S": least}, ":most": {"S": self.most}}
            return "pk = :pk AND sk BETWEEN :least AND :most", values
        if least:
            return "pk = :pk AND sk >= :least", {**values, ":least": {"S": least}}
        return "pk = :pk", values


class Reading(Struct, frozen=True):
    """The part that all calls for one page have in common."""

    client: Client
    keys: KeyRange
    request: dict[str, Any]
    now_ms: int
    ends_at: float

    @classmethod
    def of(cls, client: Client, request: dict[str, Any], listing: ListEntries, now_ms: int) -> "Reading":
        """Begins to read a page, without values unless they are asked for."""
        request = {**request, "FilterExpression": IS_LIVE}
        if not listing.has_values:
            request["ProjectionExpression"] = "sk, x, r"
        return cls(client, KeyRange.of(listing), request, now_ms, client.deadline())


class Shard:
    """A shard that is being read: items that were read and not taken, and the last key that was read."""

    def __init__(self, table: Table, number: int) -> None:
        self._partition = entry_partition(table.keyspace, number)
        self._items: list[EntryItem] = []
        self._taken = 0
        self.read_to = ""
        self.has_more = True

    @property
    def head(self) -> str | None:
        """The least key that was read and not taken, if any."""
        return self._items[self._taken].key.value if self._taken < len(self._items) else None

    def take(self) -> EntryItem:
        """Takes the item of the head."""
        self._taken += 1
        return self._items[self._taken - 1]

    async def fill(self, reading: Reading, wanted: int) -> None:
        """Reads on, until `wanted` items are not taken, or there are no more."""
        missing = wanted - (len(self._items) - self._taken)
        if missing <= 0 or not self.has_more:
            return
        condition, values = reading.keys.query(self._partition, self.read_to)
        request = {
            **reading.request,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": {**values, ":now": number(reading.now_ms)},
            "Limit": missing,
        }
        reply = await reading.client.call(Action.QUERY, request, reading.ends_at)
        page = decode(reply, QueryOutput[EntryItem])
        self._items = self._items[self._taken :] + page.items
        self._taken = 0
        self.has_more = bool(bytes(page.last))
        if self.has_more:
            self.read_to = decode(page.last, _Position).key.value
