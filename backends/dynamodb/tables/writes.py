"""Writes of entries: one guarded call, or a read and a guarded call where no expression states the guard."""

from typing import Any

from backends.dynamodb.failures import Action
from backends.dynamodb.items import Value, collectable_from, number
from backends.dynamodb.tables.calls import EntryCalls, Superseded
from backends.dynamodb.tables.counts import HomeCounts
from backends.dynamodb.tables.items import EntryItem, guard_of, is_of_old, item_of, live_entry, unchanged
from backends.effects import SingleOperation, effect_of, integer_of, size_of
from backends.tables import (
    ANY,
    PRESENT,
    AddToEntry,
    DeleteEntry,
    EntryResult,
    NoEntry,
    NoRoom,
    PutEntry,
    Removed,
    Table,
    TouchEntry,
    Unmet,
    Written,
)


class EntryWrites:
    """Puts, deletes and touches."""

    def __init__(self, calls: EntryCalls, counts: HomeCounts) -> None:
        self._calls = calls
        self._counts = counts

    async def put(self, table: Table, put: PutEntry, now_ms: int) -> EntryResult:
        """Puts in one call, unless the storage limit is near: then only the live entry shows the growth."""
        free_bytes = await self._counts.free_bytes(table)
        is_near_limit = free_bytes is not None and size_of(put.key, put.entry) > free_bytes
        if is_near_limit or is_of_old(put.condition):
            return await self._computed(table, put, now_ms)
        request = {"TableName": self._calls.name, "Item": item_of(table, put.key, put.entry)}
        unmet = await self._guarded(Action.PUT, request, put, now_ms)
        return unmet or Written(put.entry.revision)

    async def delete(self, table: Table, delete: DeleteEntry, now_ms: int) -> EntryResult:
        if is_of_old(delete.condition):
            return await self._computed(table, delete, now_ms)
        unmet = await self._guarded(Action.DELETE, self._calls.at(table, delete.key), delete, now_ms)
        return unmet or Removed()

    async def touch(self, table: Table, touch: TouchEntry, now_ms: int) -> EntryResult:
        if is_of_old(touch.condition) or touch.condition.exists is False:
            return await self._computed(table, touch, now_ms)
        values: dict[str, Value] = {":r": {"S": touch.revision}}
        expression = "SET r = :r REMOVE x, t"
        if touch.expires_at_ms is not None:
            expression = "SET r = :r, x = :x, t = :t"
            values |= {":x": number(touch.expires_at_ms), ":t": collectable_from(touch.expires_at_ms)}
        request = {
            **self._calls.at(table, touch.key),
            "UpdateExpression": expression,
            "ExpressionAttributeValues": values,
        }
        unmet = await self._guarded(Action.UPDATE, request, touch, now_ms)
        if unmet is not None and touch.condition == ANY:
            return NoEntry()
        return unmet or Written(touch.revision)

    async def attempt(
        self,
        table: Table,
        operation: SingleOperation,
        item: EntryItem | None,
        now_ms: int,
        *,
        ends_at: float,
    ) -> EntryResult:
        """Computes the effect on the item that was read, and writes it if nobody has changed the item.

        Raises Superseded.
        """
        live = live_entry(item, now_ms)
        effect = effect_of(operation, live)
        if effect.entry is live:
            return effect.result
        guard = unchanged(item)
        if effect.entry is None:
            await self._calls.write(Action.DELETE, self._calls.at(table, operation.key), guard, ends_at)
            return effect.result
        grows_by = size_of(operation.key, effect.entry) - size_of(operation.key, live)
        free_bytes = await self._counts.free_bytes(table) if grows_by > 0 else None
        if free_bytes is not None and grows_by > free_bytes:
            return NoRoom()
        integer = integer_of(effect.entry.value) if isinstance(operation, AddToEntry) else None
        new = item_of(table, operation.key, effect.entry, integer)
        await self._calls.write(Action.PUT, {"TableName": self._calls.name, "Item": new}, guard, ends_at)
        return effect.result

    async def _computed(self, table: Table, operation: SingleOperation, now_ms: int) -> EntryResult:
        """Reads, computes and writes, as often as other writers come first."""
        race = self._calls.race()
        item = await self._calls.read(table, operation.key, is_strong=True, ends_at=race.ends_at)
        while True:
            try:
                return await self.attempt(table, operation, item, now_ms, ends_at=race.ends_at)
            except Superseded as superseded:
                item = superseded.item
            await race.lost()

    async def _guarded(
        self,
        action: Action,
        request: dict[str, Any],
        operation: PutEntry | DeleteEntry | TouchEntry,
        now_ms: int,
    ) -> Unmet | None:
        """Writes if the condition holds; returns why not. A touch needs an entry even without a condition."""
        condition = operation.condition
        if condition == ANY and isinstance(operation, TouchEntry):
            condition = PRESENT
        guard = None if condition == ANY else guard_of(condition, now_ms)
        try:
            await self._calls.write(action, request, guard)
        except Superseded as superseded:
            live = live_entry(superseded.item, now_ms)
            return Unmet(live.revision if live else None)
        return None
