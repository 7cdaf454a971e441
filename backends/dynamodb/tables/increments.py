"""Increments: one call each on an integer that an increment has made.

DynamoDB adds to a number attribute by itself, so any number of increments of one key need no attempt more. A
value in bytes could only be compared and swapped: of forty at once one would win in each round, and each loss
costs a write unit.
"""

from backends.dynamodb.failures import Action
from backends.dynamodb.items import UpdateItemOutput, Value, decode, number
from backends.dynamodb.tables.calls import EntryCalls, Request, Superseded
from backends.dynamodb.tables.counts import HomeCounts
from backends.dynamodb.tables.items import IS_LIVE, EntryItem, Guard, live_entry
from backends.dynamodb.tables.writes import EntryWrites
from backends.effects import size_of
from backends.tables import LARGEST_INTEGER, AddToEntry, EntryResult, NotInteger, StoredEntry, Sum, Table


class Increments:
    """Adds to integers."""

    def __init__(self, calls: EntryCalls, writes: EntryWrites, counts: HomeCounts) -> None:
        self._calls = calls
        self._writes = writes
        self._counts = counts

    async def add(self, table: Table, add: AddToEntry, now_ms: int) -> EntryResult:
        """Adds in one call. A missing entry that gets an expiry, and a value in bytes, take a second."""
        race = self._calls.race()
        request, guard = await self._addition(table, add, now_ms)
        while True:
            try:
                reply = await self._calls.write(Action.UPDATE, request, guard, race.ends_at)
            except Superseded as superseded:
                item = superseded.item
            else:
                entry = decode(reply, UpdateItemOutput[EntryItem]).attributes.entry()
                return Sum(int(entry.value), entry.expires_at_ms, entry.revision)
            if item is not None and item.integer is not None and live_entry(item, now_ms) is not None:
                return NotInteger()
            try:
                return await self._writes.attempt(table, add, item, now_ms, ends_at=race.ends_at)
            except Superseded:
                await race.lost()

    async def _addition(self, table: Table, add: AddToEntry, now_ms: int) -> tuple[Request, Guard]:
        values: dict[str, Value] = {
            ":by": number(add.by),
            ":r": {"S": add.revision},
            ":now": number(now_ms),
            ":least": number(max(-LARGEST_INTEGER, -LARGEST_INTEGER - add.by)),
            ":most": number(min(LARGEST_INTEGER, LARGEST_INTEGER - add.by)),
        }
        condition = f"i BETWEEN :least AND :most AND {IS_LIVE}"
        expression = "SET i = i + :by, r = :r"
        if add.expires_at_ms is None and await self._has_room(table, add):
            condition = f"attribute_not_exists(pk) OR ({condition})"
            expression = "SET i = if_not_exists(i, :zero) + :by, r = :r"
            values[":zero"] = number(0)
        request: Request = {
            **self._calls.at(table, add.key),
            "UpdateExpression": expression,
            "ReturnValues": "ALL_NEW",
        }
        return request, Guard(condition, values)

    async def _has_room(self, table: Table, add: AddToEntry) -> bool:
        """Returns whether the storage limit leaves room for a new integer."""
        free_bytes = await self._counts.free_bytes(table)
        entry = StoredEntry(b"%d" % add.by, None, add.revision)
        return free_bytes is None or size_of(add.key, entry) <= free_bytes
