"""Calls on the item of one entry."""

import asyncio
import random
from typing import Any

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action, ConditionFailed
from backends.dynamodb.items import GetItemOutput, decode, entry_key
from backends.dynamodb.tables.items import EntryItem, Guard
from backends.errors import BackendUnavailable
from backends.tables import Table

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.2

Request = dict[str, Any]


class Superseded(Exception):
    """The guard of a write did not hold. `item` is the current item, if any."""

    def __init__(self, item: EntryItem | None) -> None:
        super().__init__("the guard did not hold")
        self.item = item


class EntryCalls:
    """Reads and guarded writes, one call each. A refused write learns the current item from its own call."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def at(self, table: Table, key: str) -> Request:
        """Begins a request for one entry."""
        return {"TableName": self.name, "Key": entry_key(table.keyspace, key)}

    async def read(
        self, table: Table, key: str, *, is_strong: bool, ends_at: float | None = None
    ) -> EntryItem | None:
        """Reads an item."""
        request = {**self.at(table, key), "ConsistentRead": is_strong}
        return decode(await self._client.call(Action.GET, request, ends_at), GetItemOutput[EntryItem]).item

    async def write(
        self, action: Action, request: Request, guard: Guard | None = None, ends_at: float | None = None
    ) -> bytes:
        """Writes if the guard holds, and returns the reply. Raises Superseded."""
        if guard is not None:
            values = {**request.get("ExpressionAttributeValues", {}), **guard.values}
            request = {
                **request,
                "ConditionExpression": guard.expression,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
            if values:
                request["ExpressionAttributeValues"] = values
        try:
            return await self._client.call(action, request, ends_at)
        except ConditionFailed as failed:
            item = None if failed.item is None else decode(failed.item, EntryItem)
            raise Superseded(item) from None

    def race(self) -> "Race":
        """Begins a race, which has the deadline of one call."""
        return Race(self._client.deadline())


class Race:
    """Attempts to write an item that other writers change at the same time.

    Each round one writer wins, so the pauses have full jitter: without it the losers would meet again.
    """

    def __init__(self, ends_at: float) -> None:
        self.ends_at = ends_at
        self._longest_seconds = _FIRST_PAUSE_SECONDS

    async def lost(self) -> None:
        """Pauses before another attempt. Raises BackendUnavailable if none would be in time."""
        pause_seconds = random.uniform(0, self._longest_seconds)  # noqa: S311 - spreads load, guards nothing
        if asyncio.get_running_loop().time() + pause_seconds >= self.ends_at:
            raise BackendUnavailable("the entry keeps changing")
        await asyncio.sleep(pause_seconds)
        self._longest_seconds = min(2 * self._longest_seconds, _LONGEST_PAUSE_SECONDS)
