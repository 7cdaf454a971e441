"""The feed of changed records in DynamoDB: numbered items of one partition, and the counter of the numbers.

A writer takes the next number, then writes change and announcement in one transaction. Concurrent writers do
not conflict, and announcements may become visible out of order. A reader reads the counter along with them:
a number that was given and has no announcement is missing, and the reader looks for it until it appears.

A condition of the transaction ensures that a number is announced once. A writer whose transaction failed or
timed out therefore gives its number back by an empty announcement: once that is written, the change can no
longer be applied. A new number that is already taken shows that the counter was set back; the writer then
skips far ahead.

A foreign item in the partition is logged and stops no reader. If it may hide an announcement, the answer is
incomplete (D189).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from backends.dynamodb.announcements import Position, checked_number
from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action, ConditionFailed
from backends.dynamodb.feed_partition import FeedPartition
from backends.dynamodb.items import (
    TTL_ATTRIBUTE,
    Number,
    UpdateItemOutput,
    change_counter_key,
    change_key,
    collectable_from,
    decode,
)
from backends.errors import BackendError
from backends.interface import MAX_CHANGES, Changes

log = logging.getLogger("kvs.dynamodb")

KEPT_MS = 86_400_000

_MOST_MISSING = 50
"""Upper bound of concurrent writers; a new reader looks for missing numbers among this many."""

_MOST_AFTER_A_REST = 10
"""The same bound if no announcement is left in the partition."""

_MOST_NAMED = 100
_NOTHING = "-"


class DynamoFeed:
    """Reads the feed and prepares the announcements that transactions add.

    The monotonic clock measures the ages of missing numbers: a jump of the wall clock neither hastens nor
    prevents a doubt.
    """

    def __init__(
        self, client: Client, table: str, now_ms: Callable[[], int], monotonic_ms: Callable[[], int]
    ) -> None:
        self._client = client
        self._table = table
        self._now_ms = now_ms
        self._monotonic_ms = monotonic_ms
        self._partition = FeedPartition(client, table)
        self._giving_back: set[asyncio.Task[None]] = set()
        self._foreign: set[str] = set()

    async def changes(self, position: str | None) -> Changes:
        """See `RecordStore.changes`."""
        began_ms = self._monotonic_ms()
        if position is None:
            return await self._begin(began_ms)
        here = Position.parse(position)
        reading = self._partition.page(here.last + 1, limit=MAX_CHANGES + 2)
        page, late = await asyncio.gather(reading, self._late(here.missing))
        self._name(page.foreign)
        if page.counted is None or not 0 <= page.counted - here.last <= MAX_CHANGES:
            return await self._begin(began_ms)
        announced = late | page.names
        there = here.behind(announced, page.counted, began_ms)
        if len(there.missing) > _MOST_MISSING:
            return await self._begin(began_ms)
        is_doubted = None in announced.values() or here.brings_doubt(announced, began_ms)
        return Changes(
            tuple(name for name in announced.values() if name not in (None, _NOTHING)),
            str(there),
            is_complete=not is_doubted,
            unsettled_ms=there.unsettled_ms(began_ms),
            foreign=len(page.foreign),
        )

    async def next_number(self, step: int = 1) -> int:
        """Takes a unique number, `step` ahead of the last one."""
        request = {
            "TableName": self._table,
            "Key": change_counter_key(),
            "UpdateExpression": "ADD n :step",
            "ExpressionAttributeValues": {":step": {"N": str(step)}},
            "ReturnValues": "UPDATED_NEW",
        }
        counted = decode(await self._client.call(Action.UPDATE, request), UpdateItemOutput[_Counter])
        return checked_number(counted.attributes.value)

    def announcement(self, number: int, name: str = _NOTHING) -> dict[str, Any]:
        """Returns the write that announces a change of `name`, on condition that the number is free."""
        collectable = collectable_from(self._now_ms() + KEPT_MS)
        item = {**change_key(number), "m": {"S": name}, TTL_ATTRIBUTE: collectable}
        return {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}

    async def give_back(self, number: int) -> None:
        """Writes an empty announcement, so that no reader waits for this number.

        A failure only delays readers.
        """
        with suppress(BackendError, ConditionFailed):
            await self._client.call(Action.PUT, self.announcement(number))

    def give_back_soon(self, number: int) -> None:
        """Gives a number back in the background."""
        giving = asyncio.create_task(self.give_back(number))
        self._giving_back.add(giving)
        giving.add_done_callback(self._giving_back.discard)

    async def _begin(self, began_ms: int) -> Changes:
        page = await self._partition.page(1, limit=_MOST_MISSING + 1, is_forward=False)
        self._name(page.foreign)
        counted = page.counted or 0
        unseen = _MOST_MISSING if page.is_cut else _MOST_AFTER_A_REST
        first = min(page.names, default=counted - unseen + 1)
        start = Position(max(first, counted - _MOST_MISSING + 1, 1) - 1)
        position = str(start.behind(page.names, counted, began_ms))
        return Changes((), position, is_complete=False, foreign=len(page.foreign))

    async def _late(self, missing: dict[int, int]) -> dict[int, str | None]:
        """Reads the missing numbers that have appeared meanwhile."""
        found = await asyncio.gather(*map(self._partition.find, missing))
        return {number: item.name for number, item in zip(missing, found, strict=True) if item is not None}

    def _name(self, foreign: Iterable[str]) -> None:
        """Logs each foreign item once, up to a hundred items."""
        for sort_key in foreign:
            if sort_key not in self._foreign and len(self._foreign) < _MOST_NAMED:
                self._foreign.add(sort_key)
                shown = sort_key[:40].encode("ascii", "backslashreplace").decode()
                log.error("foreign item in the DynamoDB feed", extra={"fields": {"item": shown}})


class _Counter(Struct, frozen=True):
    value: Number = field(name="n")
