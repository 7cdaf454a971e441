"""Counters of DynamoDB, a store whose conditions cannot read a clock (D111).

The counting is the gateway's own (`DynamoWindowCounter`, `StoreTime`). The store applies its conditional
updates, and dates its responses to the second (D140).
"""

from email.utils import formatdate
from typing import Any

import msgspec

from backends.clock import Clock
from backends.dynamodb.counters import DynamoWindowCounter
from backends.dynamodb.failures import ConditionFailed
from backends.dynamodb.store_time import StoreTime
from backends.sequential import SequentialSteps
from lab.simulation.network import Network
from lab.simulation.remote import RemoteBackend
from lab.simulation.store import Store, Window

WINDOW_MS = 60_000
APART_MS = 1_300
"""Largest difference between the replicas' estimates of the store's time: a second and a round trip."""


class Items:
    """Window counters, and all windows so far."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._items: dict[str, dict[str, int]] = {}
        self._last: dict[str, Window] = {}

    async def update(self, request: dict[str, Any]) -> tuple[str, bytes | ConditionFailed]:
        """Returns the date and the content of the response."""
        bucket = request["Key"]["pk"]["S"]
        values = {
            name: int(value["N"])
            for name, value in request["ExpressionAttributeValues"].items()
            if "N" in value
        }
        item = self._items.get(bucket)
        amount = values[":amount"]
        if ":most" in values:
            is_open = item is not None and values[":now"] < item["c"] <= values[":latest"]
            if item is None or not is_open or item["n"] > values[":most"]:
                return self.date(), _failed(item)
            item["n"] += amount
            self._last[bucket].admit(amount, self._store.clock.monotonic_ms())
        else:
            if (None if item is None else item["c"]) != values.get(":closed"):
                return self.date(), _failed(item)
            item = self._items[bucket] = {"n": amount, "c": values[":closes"]}
            self._open(bucket, amount)
        return self.date(), msgspec.json.encode({"Attributes": _attributes(item)})

    async def look(self) -> str:
        """Returns the date of a response to another request."""
        return self.date()

    def date(self) -> str:
        return formatdate(self._store.clock.wall_ms() // 1000, usegmt=True)

    def _open(self, bucket: str, amount: int) -> None:
        now_ms = self._store.clock.monotonic_ms()
        window = Window(bucket, now_ms, now_ms + WINDOW_MS + APART_MS, closes_early_by_ms=2 * APART_MS)
        window.admit(amount, now_ms)
        before = self._last.get(bucket)
        if before is not None:
            window.follows_after_ms = now_ms - before.opened_ms
        self._last[bucket] = window
        self._store.windows.append(window)


class ClocklessBackend(RemoteBackend):
    """A replica's view of a store with such counters."""

    def __init__(self, network: Network, items: Items, clock: Clock) -> None:
        super().__init__(network)
        self._items = items
        self._time = StoreTime(clock)
        self.counters = DynamoWindowCounter(self, "table", self._time.now_ms)
        self.charged = SequentialSteps(self.counters, self.tables)

    async def call(self, _action: object, request: dict[str, Any]) -> bytes:
        """Reads the time as a client of DynamoDB does."""
        asked_ms = self._time.monotonic_ms()
        date, reply = await self._network.call(lambda: self._items.update(request), may_repeat=False)
        self._time.note(date, asked_ms)
        if isinstance(reply, ConditionFailed):
            raise reply
        return reply

    async def ping(self) -> None:
        asked_ms = self._time.monotonic_ms()
        self._time.note(await self._network.call(self._items.look, may_repeat=True), asked_ms)


def _attributes(item: dict[str, int]) -> dict[str, dict[str, str]]:
    return {name: {"N": str(value)} for name, value in item.items()}


def _failed(item: dict[str, int] | None) -> ConditionFailed:
    return ConditionFailed(None if item is None else msgspec.json.encode(_attributes(item)))
