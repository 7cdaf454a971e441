"""Tables of version 0.2 and their upgrade, as the tests of layouts use them."""

from collections.abc import Awaitable, Callable

from backends.clock import SystemClock
from backends.errors import BackendUnavailable
from backends.interface import Keyspace
from backends.redis.backend import RedisBackend
from backends.redis.layouts.tables import LayeredTables
from backends.redis.wire.resp import Reply
from backends.tables import (
    AddToEntry,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    Page,
    PutEntry,
    Revisions,
    StoredEntry,
    Table,
    TouchEntry,
    UpgradeStep,
)

HOME = "acme/shop/production"
OLD = Table(HOME, Keyspace(f"tbl_{0:032x}"))
REVISIONS = Revisions()
wall_ms = SystemClock().wall_ms


def put_of(key: str, value: bytes = b"1", expires_at_ms: int | None = None) -> PutEntry:
    return PutEntry(key, StoredEntry(value, expires_at_ms, REVISIONS.next()))


NEW_OPERATIONS: dict[str, EntryOperation] = {
    "list": ListEntries("", "", 10, has_values=True, page_bytes=1000),
    "increment": AddToEntry("k", 1, None, REVISIONS.next()),
    "touch": TouchEntry("k", None, REVISIONS.next()),
}


async def do(tables: LayeredTables, operation: EntryOperation, table: Table = OLD) -> EntryResult:
    return await tables.execute(table, operation, wall_ms())


async def value_of(tables: LayeredTables, key: str) -> bytes | None:
    found = await do(tables, GetEntry(key))
    return found.value if isinstance(found, StoredEntry) else None


async def all_entries(tables: LayeredTables, table: Table = OLD) -> dict[str, StoredEntry]:
    entries: dict[str, StoredEntry] = {}
    after: str | None = ""
    while after is not None:
        operation = ListEntries("", after, 1000, has_values=True, page_bytes=2**20)
        page = await do(tables, operation, table)
        assert isinstance(page, Page)
        entries |= page.entries
        after = page.after
    return entries


async def upgrade(tables: LayeredTables, table: Table = OLD) -> list[UpgradeStep]:
    """All steps that it took."""
    steps: list[UpgradeStep] = []
    while not steps or steps[-1].cursor is not None:
        cursor = steps[-1].cursor if steps else None
        step = await tables.upgrade(table, cursor, wall_ms())
        assert isinstance(step, UpgradeStep)
        steps.append(step)
    return steps


class InterruptedTopology:
    """The topology of a store; before its call number `at` it does something else first."""

    def __init__(self, backend: RedisBackend, at: int, first: Callable[[], Awaitable[object]]) -> None:
        self._inner = backend._topology
        self._at = at
        self._first = first
        self.calls = 0
        self.masters = self._inner.masters

    async def call(self, key: bytes, command: bytes) -> Reply:
        number = self.calls
        self.calls += 1
        if number == self._at:
            await self._first()
        return await self._inner.call(key, command)


def interrupted(
    backend: RedisBackend, at: int, first: Callable[[], Awaitable[object]]
) -> tuple[LayeredTables, InterruptedTopology]:
    """Returns the tables of a store on a topology that is interrupted before one of its calls."""
    topology = InterruptedTopology(backend, at, first)
    return LayeredTables(topology, backend._keys, "kvs", backend.counters), topology


async def fail() -> None:
    raise BackendUnavailable("interrupted")


async def nothing() -> None:
    """Interrupts nothing."""


OPERATIONS: dict[str, Callable[[], EntryOperation]] = {
    "put": lambda: put_of("k", b"new"),
    "get": lambda: GetEntry("k"),
    "delete": lambda: DeleteEntry("k"),
}
