"""The operations of tables, each by its calls."""

from collections.abc import Callable, Sequence

from backends.dynamodb.client import Client
from backends.dynamodb.tables.calls import EntryCalls
from backends.dynamodb.tables.counts import HomeCounts
from backends.dynamodb.tables.drops import Drops
from backends.dynamodb.tables.increments import Increments
from backends.dynamodb.tables.items import live_entry
from backends.dynamodb.tables.lists import page_of
from backends.dynamodb.tables.writes import EntryWrites
from backends.tables import (
    AddToEntry,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    NoEntry,
    PutEntry,
    Table,
    TableCount,
    TouchEntry,
    UpgradeStep,
)


class DynamoTables:
    """A `TableStore`. Puts, gets and deletes are one call each, at the price of the item alone."""

    def __init__(
        self, client: Client, name: str, monotonic_ms: Callable[[], int], *, strong_reads: bool
    ) -> None:
        self._client = client
        self._strong_reads = strong_reads
        self._request = {"TableName": name, "ConsistentRead": strong_reads}
        self._calls = EntryCalls(client, name)
        self._counts = HomeCounts(client, name, monotonic_ms)
        self._writes = EntryWrites(self._calls, self._counts)
        self._increments = Increments(self._calls, self._writes, self._counts)
        self._drops = Drops(client, name)

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        match operation:
            case GetEntry(key):
                item = await self._calls.read(table, key, is_strong=self._strong_reads)
                return live_entry(item, now_ms) or NoEntry()
            case PutEntry():
                return await self._writes.put(table, operation, now_ms)
            case DeleteEntry():
                return await self._writes.delete(table, operation, now_ms)
            case TouchEntry():
                return await self._writes.touch(table, operation, now_ms)
            case AddToEntry():
                return await self._increments.add(table, operation, now_ms)
            case ListEntries():
                return await page_of(self._client, self._request, table, operation, now_ms)

    async def count(self, table: Table, now_ms: int) -> TableCount:  # noqa: ARG002 - the last count answers
        return await self._counts.last_of(table)

    async def drop(self, tables: Sequence[Table]) -> None:
        await self._drops.drop(tables)

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        """Counts. DynamoDB removes expired items itself."""
        await self._counts.count(tables, now_ms)

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep:  # noqa: ARG002
        """Items of all versions have one layout."""
        return UpgradeStep(None)
