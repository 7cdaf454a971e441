"""A directory with the feed of DynamoDB: numbered announcements, some of them late (D189).

Swapping and reading are the gateway's own (`DynamoRecordStore`, `DynamoFeed`). The store has the partition of
the feed, applies its conditional writes, and lets announcements be seen some time after they were made.
"""

import asyncio
import random
from typing import Any

import msgspec

from backends.clock import Clock
from backends.dynamodb.failures import Action, ConditionFailed
from backends.dynamodb.records import DynamoRecordStore
from backends.interface import Changes
from lab.simulation.network import Network
from lab.simulation.records import StoreRecords
from lab.simulation.remote import RemoteBackend, RemoteRecords

_COUNTER = "next"

Item = dict[str, Any]


class FeedItems:
    """The partition of the feed; an announcement is seen up to `late_seconds` after it was made."""

    def __init__(self, records: StoreRecords, dice: random.Random) -> None:
        self._records, self._dice = records, dice
        self._now = asyncio.get_running_loop().time
        self._items: dict[str, Item] = {_COUNTER: {"pk": {"S": "c"}, "sk": {"S": _COUNTER}, "n": {"N": "0"}}}
        self._seen_from: dict[str, float] = {}
        self.late_seconds = 0.0

    async def answer(self, action: Action, request: dict[str, Any]) -> bytes | ConditionFailed:
        """Makes one request, as one step of the store."""
        match action:
            case Action.UPDATE:
                return msgspec.json.encode({"Attributes": self._count(request)})
            case Action.PUT:
                return self._write(request)
            case Action.TRANSACT:
                change, announcement = request["TransactItems"]
                return await self._change(change, announcement["Put"])
            case Action.GET:
                item = self._visible().get(request["Key"]["sk"]["S"])
                return msgspec.json.encode({} if item is None else {"Item": item})
        return msgspec.json.encode(self._page(request))

    def remove_all_but(self, kept: int) -> None:
        """Deletes announcements."""
        announced = sorted(self._items.keys() - {_COUNTER})
        for sort_key in announced[: max(len(announced) - kept, 0)]:
            del self._items[sort_key]

    def _count(self, request: dict[str, Any]) -> Item:
        step = int(request["ExpressionAttributeValues"][":step"]["N"])
        counter = self._items[_COUNTER]
        counter["n"] = {"N": str(int(counter["n"]["N"]) + step)}
        return {"n": counter["n"]}

    def _write(self, put: dict[str, Any]) -> bytes | ConditionFailed:
        sort_key = put["Item"]["sk"]["S"]
        if sort_key in self._items:
            return ConditionFailed(None)
        self._items[sort_key] = put["Item"]
        self._seen_from[sort_key] = self._now() + self._dice.uniform(0, self.late_seconds)
        return b"{}"

    async def _change(self, change: dict[str, Any], announcement: dict[str, Any]) -> bytes | ConditionFailed:
        """Applies both writes or neither."""
        is_taken = announcement["Item"]["sk"]["S"] in self._items
        ((_, write),) = change.items()
        key, values = write.get("Key") or write["Item"], write.get("ExpressionAttributeValues")
        name, document = key["sk"]["S"], write["Item"]["d"]["B"] if "Item" in write else None
        expected = None if values is None else values[":expected"]["S"]
        record = await self._records.read(name)
        is_other = (None if record is None else record.version) != expected
        failed = {place for place, has_failed in enumerate((is_other, is_taken)) if has_failed}
        if failed:
            return ConditionFailed(None, failed)
        await self._records.apply(name, document, expected)
        return self._write(announcement)

    def _visible(self) -> dict[str, Item]:
        now = self._now()
        return {each: item for each, item in self._items.items() if self._seen_from.get(each, now) <= now}

    def _page(self, request: dict[str, Any]) -> dict[str, Any]:
        first, last = (request["ExpressionAttributeValues"][each]["S"] for each in (":first", ":last"))
        found = sorted((each, item) for each, item in self._visible().items() if first <= each <= last)
        if not request["ScanIndexForward"]:
            found.reverse()
        page = [item for _, item in found[: request["Limit"]]]
        return {"Items": page} | ({"LastEvaluatedKey": page[-1]} if len(page) == request["Limit"] else {})


class NumberedBackend(RemoteBackend):
    """A replica's view of a store with such a feed."""

    def __init__(self, network: Network, items: FeedItems, clock: Clock) -> None:
        super().__init__(network)
        self.records = _NumberedRecords(network, items, clock)


class _NumberedRecords(RemoteRecords):
    def __init__(self, network: Network, items: FeedItems, clock: Clock) -> None:
        super().__init__(network)
        self._items = items
        self._dynamo = DynamoRecordStore(self, "table", clock.wall_ms, clock.monotonic_ms)

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        return await self._dynamo.swap(name, document, expected)

    async def changes(self, position: str | None) -> Changes:
        return await self._dynamo.changes(position)

    async def call(self, action: Action, request: dict[str, Any]) -> bytes:
        """Reads the time as a client of DynamoDB does."""
        reply = await self._network.call(
            lambda: self._items.answer(action, request), may_repeat=action.is_idempotent
        )
        if isinstance(reply, ConditionFailed):
            raise reply
        return reply
