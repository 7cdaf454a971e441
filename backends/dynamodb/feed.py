"""The feed of changed records in DynamoDB: numbered items of one partition.

A changer takes the next number from a counter, then writes change and announcement in one transaction. So
changers are not in each other's way, and announcements may appear in another order than that of their
numbers: behind a number that is not there yet, others may be. A reader notes it as missing and asks for it
by name until it is there. The number of a swap that came too late is given back by an announcement of
nothing; one whose changer crashed stays missing, and is given up once no request that was signed for it can
be accepted any more.

A position is the highest number that was read, and those that are missing below it.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action
from backends.dynamodb.items import (
    TTL_ATTRIBUTE,
    GetItemOutput,
    Number,
    QueryOutput,
    Text,
    UpdateItemOutput,
    change_counter_key,
    change_key,
    collectable_from,
    decode,
    last_change_key,
)
from backends.errors import CorruptEntry
from backends.interface import MAX_CHANGES, Changes

KEPT_MS = 86_400_000
GIVEN_UP_AFTER_MS = 600_000
"""DynamoDB accepts a signature for five minutes; the signer's clock may be as wrong."""

_LOOKED_BACK = 100
"""A reader that begins looks for missing numbers among so many: more changers are never at it at once."""

_MOST_MISSING = 50
_NOTHING = "-"
_FOREIGN = "the feed in DynamoDB was not written by this gateway"


class _Announcement(Struct, frozen=True):
    sort_key: Text = field(name="sk")
    name: Text = field(name="m")

    @property
    def number(self) -> int:
        if not self.sort_key.value.isdecimal():
            raise CorruptEntry(_FOREIGN)
        return int(self.sort_key.value)


class _Counter(Struct, frozen=True):
    value: Number = field(name="n")


class _Position(Struct, frozen=True):
    """`missing`: numbers, and when they were found to be missing."""

    last: int = 0
    missing: dict[int, int] = field(default_factory=dict)

    def behind(self, numbers: set[int], now_ms: int) -> "_Position":
        """The position once these numbers were read, too."""
        last = max(numbers, default=self.last)
        new = dict.fromkeys(range(self.last + 1, last), now_ms)
        missing = {
            number: since_ms
            for number, since_ms in (self.missing | new).items()
            if number not in numbers and now_ms - since_ms < GIVEN_UP_AFTER_MS
        }
        return _Position(max(last, self.last), missing)

    @classmethod
    def parse(cls, text: str) -> "_Position":
        last, *missing = text.split()
        pairs = (each.split("@") for each in missing)
        return cls(int(last), {int(number): int(since_ms) for number, since_ms in pairs})

    def __str__(self) -> str:
        return " ".join([str(self.last), *(f"{number}@{ms}" for number, ms in self.missing.items())])


class DynamoFeed:
    """Reads the feed, and prepares what a transaction adds to it."""

    def __init__(self, client: Client, table: str, now_ms: Callable[[], int]) -> None:
        self._client = client
        self._table = table
        self._now_ms = now_ms

    async def changes(self, position: str | None) -> Changes:
        """As `RecordStore.changes`."""
        here = None if position is None else _Position.parse(position)
        if here is None or len(here.missing) > _MOST_MISSING:
            return await self._begin()
        announced, late = await asyncio.gather(self._from(here.last), self._late(here.missing))
        is_kept = here.last == 0 or (bool(announced) and announced[0].number == here.last)
        new = [each for each in announced if each.number > here.last]
        if not is_kept or len(new) > MAX_CHANGES:
            return await self._begin()
        told = [*late, *new]
        there = here.behind({each.number for each in told}, self._now_ms())
        names = tuple(each.name.value for each in told if each.name.value != _NOTHING)
        return Changes(names, str(there), is_complete=True)

    async def next_number(self) -> int:
        """One that nobody else has."""
        request = {
            "TableName": self._table,
            "Key": change_counter_key(),
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        }
        counted = decode(await self._client.call(Action.UPDATE, request), UpdateItemOutput[_Counter])
        return int(counted.attributes.value)

    def announcement(self, number: int, name: str = _NOTHING) -> dict[str, Any]:
        """The write that announces a change of `name`."""
        collectable = collectable_from(self._now_ms() + KEPT_MS)
        item = {**change_key(number), "m": {"S": name}, TTL_ATTRIBUTE: collectable}
        return {"TableName": self._table, "Item": item}

    async def give_back(self, number: int) -> None:
        """Announce nothing, so that nobody waits for this number."""
        await self._client.call(Action.PUT, self.announcement(number))

    async def _begin(self) -> Changes:
        last = await self._read(first=0, limit=_LOOKED_BACK, is_forward=False)
        numbers = {each.number for each in last}
        start = _Position(min(numbers, default=1) - 1)
        return Changes((), str(start.behind(numbers, self._now_ms())), is_complete=False)

    async def _from(self, number: int) -> list[_Announcement]:
        return await self._read(first=number, limit=MAX_CHANGES + 2)

    async def _late(self, missing: dict[int, int]) -> list[_Announcement]:
        """Those of the missing numbers that are there now."""
        found = await asyncio.gather(*map(self._find, missing))
        return [each for each in found if each is not None]

    async def _find(self, number: int) -> _Announcement | None:
        request = {"TableName": self._table, "Key": change_key(number), "ConsistentRead": True}
        return decode(await self._client.call(Action.GET, request), GetItemOutput[_Announcement]).item

    async def _read(self, first: int, limit: int, *, is_forward: bool = True) -> list[_Announcement]:
        """Announcements from a number on, or the last ones; one answer of DynamoDB holds all of them."""
        start, end = change_key(first), last_change_key()
        request = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
            "ExpressionAttributeValues": {":pk": start["pk"], ":first": start["sk"], ":last": end["sk"]},
            "ConsistentRead": True,
            "ScanIndexForward": is_forward,
            "Limit": limit,
        }
        return decode(await self._client.call(Action.QUERY, request), QueryOutput[_Announcement]).items
