"""Tables in Redis: one script and one round trip for a step."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from struct import Struct as Layout
from typing import Any

from backends.errors import BackendUnavailable, CorruptEntry, StoreFull
from backends.interface import Charge
from backends.redis.topology.interface import Script, Topology
from backends.redis.wire.commands import pack
from backends.redis.wire.replies import NOT_REDIS
from backends.redis.wire.resp import Reply
from backends.tables import (
    AddToEntry,
    Charges,
    Condition,
    DeleteEntry,
    Done,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    NotInteger,
    Page,
    PutEntry,
    Refused,
    Removed,
    Revision,
    Step,
    StoredEntry,
    Sum,
    Table,
    TableCount,
    TouchEntry,
    Unmet,
    Written,
)

SWEPT_AT_ONCE = 250
"""Expired entries that one script removes: it holds the server for less than a millisecond."""

_FRONT = Layout(">BQ22s")
_VERSION = 2
_NEVER = 0
_FOREIGN = "an entry in Redis was not written by this gateway"
_TEXT = files(__package__).joinpath("step.lua").read_text("ascii")


class Home:
    """The key names of one app environment, and of its tables.

    The hash tag is the name of the window of the app environment, so that it lies in the slot of all the
    others although version 0.2 gave it its name, and the limit stays exact while both versions run.
    """

    def __init__(self, prefix: str, home: str) -> None:
        self.window = f"{prefix}:w:{home}".encode()
        self._tag = b"{%b}" % self.window
        self._prefix = prefix.encode()
        self.name = home
        self.expiries = b"%b:x:%b" % (self._prefix, self._tag)
        self.sizes = b"%b:b:%b" % (self._prefix, self._tag)

    def window_of(self, bucket: str) -> bytes:
        """Returns the name of the window of a budget."""
        if bucket == self.name:
            return self.window
        return b"%b:w:%b:%b" % (self._prefix, self._tag, bucket.encode())

    def keys_of(self, table: bytes) -> tuple[bytes, bytes, bytes, bytes]:
        """Returns the names of entries, index, expiries and sizes."""
        entries = b"%b:t:%b:%b" % (self._prefix, self._tag, table)
        index = b"%b:n:%b:%b" % (self._prefix, self._tag, table)
        return entries, index, self.expiries, self.sizes


class RedisTables:
    """A `ChargedStore` and `TableStore`."""

    def __init__(self, topology: Topology, prefix: str) -> None:
        self._topology = topology
        self._home = lru_cache(10_000)(lambda home: Home(prefix, home))

    async def step(
        self, charges: Charges, table: Table, operations: Sequence[EntryOperation], now_ms: int
    ) -> Step:
        home = self._home(table.home)
        windows = [home.window_of(each.bucket) for each in charges.budgets]
        limits = [b"%d" % each.limit for each in charges.budgets]
        reply = await self._run(home, windows, limits, charges, table, operations, now_ms)
        match reply:
            case [0, int(number), int(closes_in_ms), int(remaining)]:
                budget = charges.budgets[number - 1]
                return Refused(budget, Charge(False, max(closes_in_ms, 1), remaining))
            case [1, [*counted], [*found], [*due]]:
                results = await self._all_results(table, operations, found, due, now_ms)
                return Done(_charges_in(counted), tuple(results))
        raise BackendUnavailable(NOT_REDIS)

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        (result,) = await self._execute(table, [operation], now_ms, is_final=False)
        return result

    async def count(self, table: Table, now_ms: int) -> TableCount:
        home = self._home(table.home)
        await self._sweep(table, now_ms)
        entries, _, _, sizes = home.keys_of(table.keyspace.encode())
        count = await self._topology.call(entries, pack("HLEN", entries))
        size = await self._topology.call(sizes, pack("HGET", sizes, table.keyspace))
        if not isinstance(count, int):
            raise BackendUnavailable(NOT_REDIS)
        return TableCount(count, int(size) if isinstance(size, bytes) else 0, now_ms, is_exact=True)

    async def drop(self, table: Table) -> None:
        """Removes a table: its entries at once, its expiries in steps."""
        home = self._home(table.home)
        name = table.keyspace.encode()
        entries, index, expiries, sizes = home.keys_of(name)
        await _DROP.call(self._topology, entries, index, sizes, name)
        cursor = b"0"
        while (cursor := await self._drop_expiries(expiries, name, cursor)) != b"0":
            pass

    async def _drop_expiries(self, expiries: bytes, table: bytes, cursor: bytes) -> bytes:
        reply = await self._topology.call(expiries, pack("ZSCAN", expiries, cursor, "COUNT", SWEPT_AT_ONCE))
        match reply:
            case [bytes(following), [*pairs]]:
                mine = [each for each in pairs[::2] if isinstance(each, bytes) and each.startswith(table + b"\0")]
                if mine:
                    await self._topology.call(expiries, pack("ZREM", expiries, *mine))
                return following
        raise BackendUnavailable(NOT_REDIS)

    async def _all_results(
        self,
        table: Table,
        operations: Sequence[EntryOperation],
        found: list[Any],
        due: list[Any],
        now_ms: int,
    ) -> list[EntryResult]:
        """Decodes results. A step that stopped at the storage limit continues once what expired is gone."""
        results = [_result_of(*each) for each in zip(operations, found, strict=False)]
        if due:
            for owner in due:
                await self._sweep(Table(table.home, owner.decode()), now_ms)
        rest = operations[len(results) :]
        return results + (await self._execute(table, rest, now_ms, is_final=True) if rest else [])

    async def _execute(
        self, table: Table, operations: Sequence[EntryOperation], now_ms: int, *, is_final: bool
    ) -> list[EntryResult]:
        reply = await self._run(
            self._home(table.home), [], [], _NOTHING_CHARGED, table, operations, now_ms, is_final=is_final
        )
        match reply:
            case [1, [], [*found], [*due]]:
                return await self._all_results(table, operations, found, due, now_ms)
        raise BackendUnavailable(NOT_REDIS)
