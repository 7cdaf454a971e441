"""Tables in Redis: one script and one round trip for a step."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha1
from importlib.resources import files
from struct import Struct as Layout
from typing import Any

from backends.errors import BackendUnavailable, CorruptEntry, StoreFull
from backends.interface import Charge
from backends.redis.topology.interface import Topology
from backends.redis.wire.commands import pack
from backends.redis.wire.replies import NOT_REDIS, MissingScript
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
    UpgradeStep,
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
        reply = await self._run(home, charges, table, operations, now_ms)
        match reply:
            case [0, int(number), int(closes_in_ms), int(remaining)]:
                budget = charges.budgets[number - 1]
                return Refused(
                    budget, Charge(admitted=False, closes_in_ms=max(closes_in_ms, 1), remaining=remaining)
                )
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

    async def drop(self, tables: Sequence[Table]) -> None:
        for table in tables:
            await self._drop(table)

    async def _drop(self, table: Table) -> None:
        """Removes a table: its entries at once, its expiries in steps."""
        home = self._home(table.home)
        name = table.keyspace.encode()
        entries, index, expiries, sizes = home.keys_of(name)
        await _DROP.call(self._topology, [entries, index, expiries, sizes], [name])
        cursor = b"0"
        while (cursor := await self._drop_expiries(expiries, name, cursor)) != b"0":
            pass

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        for table in tables:
            await self._sweep(table, now_ms)

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep:  # noqa: ARG002
        return UpgradeStep(None)

    async def _drop_expiries(self, expiries: bytes, table: bytes, cursor: bytes) -> bytes:
        reply = await self._topology.call(expiries, pack("ZSCAN", expiries, cursor, "COUNT", SWEPT_AT_ONCE))
        match reply:
            case [bytes(following), [*pairs]]:
                mine = [
                    each for each in pairs[::2] if isinstance(each, bytes) and each.startswith(table + b"\0")
                ]
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
        home = self._home(table.home)
        reply = await self._run(home, None, table, operations, now_ms, is_final=is_final)
        match reply:
            case [1, [], [*found], [*due]]:
                return await self._all_results(table, operations, found, due, now_ms)
        raise BackendUnavailable(NOT_REDIS)

    async def _run(
        self,
        home: Home,
        charges: Charges | None,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        is_final: bool = False,
    ) -> Reply:
        """Runs the script. Without charges nobody is charged."""
        name = table.keyspace.encode()
        budgets = () if charges is None else charges.budgets
        keys = [*(home.window_of(each.bucket) for each in budgets), *home.keys_of(name)]
        arguments = [
            b"%d" % (1 if charges is None else charges.amount),
            b"%d" % (1 if charges is None else charges.window_ms),
            b"%d" % now_ms,
            b"-1" if table.max_bytes is None else b"%d" % table.max_bytes,
            name,
            b"1" if is_final else b"0",
            *(b"%d" % each.limit for each in budgets),
        ]
        for operation in operations:
            arguments += _arguments_of(operation)
        return await _STEP.call(self._topology, keys, arguments)

    async def _sweep(self, table: Table, now_ms: int) -> None:
        """Removes all that has expired in a table, some entries at a time."""
        home = self._home(table.home)
        name = table.keyspace.encode()
        keys = home.keys_of(name)
        arguments = [name, b"%d" % now_ms, b"%d" % SWEPT_AT_ONCE]
        while await _SWEEP.call(self._topology, list(keys), arguments) == SWEPT_AT_ONCE:
            pass


def _arguments_of(operation: EntryOperation) -> list[bytes]:
    """Encodes an operation for the script: its letter, then its arguments."""
    match operation:
        case PutEntry(key, entry, condition):
            new = _front(entry.expires_at_ms, entry.revision) + entry.value
            return [b"P", key.encode(), _condition(condition), new]
        case GetEntry(key):
            return [b"G", key.encode()]
        case DeleteEntry(key, condition):
            return [b"D", key.encode(), _condition(condition)]
        case TouchEntry(key, expires_at_ms, revision, condition):
            return [b"T", key.encode(), _condition(condition), _front(expires_at_ms, revision)]
        case AddToEntry(key, by, expires_at_ms, revision):
            return [b"A", key.encode(), b"%d" % by, _front(expires_at_ms, revision)]
        case ListEntries(prefix, after, limit, has_values, page_bytes):
            numbers = [b"%d" % limit, b"%d" % has_values, b"%d" % page_bytes]
            return [b"L", prefix.encode(), after.encode(), *numbers]


def _front(expires_at_ms: int | None, revision: Revision) -> bytes:
    return _FRONT.pack(_VERSION, expires_at_ms or _NEVER, revision.encode())


def _condition(condition: Condition) -> bytes:
    """Encodes a condition: empty for none, `*` or `-` for an entry or none, `=` and a revision."""
    if condition.revision is not None:
        return b"=" + condition.revision.encode()
    if condition.exists is None:
        return b""
    return b"*" if condition.exists else b"-"


def _entry_in(stored: bytes) -> StoredEntry:
    if len(stored) < _FRONT.size or stored[0] != _VERSION:
        raise CorruptEntry(_FOREIGN)
    _, expires_at_ms, revision = _FRONT.unpack_from(stored)
    return StoredEntry(stored[_FRONT.size :], expires_at_ms or None, Revision(revision.decode("latin-1")))


def _result_of(operation: EntryOperation, result: Any) -> EntryResult:
    """Decodes the result of an operation. Raises StoreFull at `maxmemory`."""
    match result:
        case [b"E", bytes(stored)]:
            return _entry_in(stored)
        case [b"U", bytes(revision)]:
            return Unmet(Revision(revision.decode("latin-1")) if revision else None)
        case [b"S", bytes(stored)]:
            entry = _entry_in(stored)
            return Sum(int(entry.value), entry.expires_at_ms, entry.revision)
        case [b"P", [*pairs], last]:
            entries = tuple(
                (key.decode(), _entry_in(stored)) for key, stored in zip(pairs[::2], pairs[1::2], strict=True)
            )
            return Page(entries, last.decode() if isinstance(last, bytes) else None)
        case [b"W"] if isinstance(operation, PutEntry):
            return Written(operation.entry.revision)
        case [b"W"] if isinstance(operation, TouchEntry):
            return Written(operation.revision)
        case [b"O"]:
            raise StoreFull("has reached maxmemory")
        case [bytes(letter)] if letter in _PLAIN:
            return _PLAIN[letter]
    raise BackendUnavailable(NOT_REDIS)


_PLAIN: dict[bytes, EntryResult] = {b"N": NoEntry(), b"R": Removed(), b"F": NoRoom(), b"I": NotInteger()}


def _charges_in(counted: list[Any]) -> tuple[Charge, ...]:
    pairs = zip(counted[::2], counted[1::2], strict=True)
    return tuple(
        Charge(admitted=True, closes_in_ms=max(closes_in_ms, 1), remaining=remaining)
        for closes_in_ms, remaining in pairs
    )


class _Many:
    """A script over several keys of one slot, and any number of arguments."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._digest = sha1(text.encode(), usedforsecurity=False).hexdigest()

    async def call(self, topology: Topology, keys: list[bytes], arguments: list[bytes]) -> Reply:
        try:
            return await topology.call(keys[-1], pack("EVALSHA", self._digest, len(keys), *keys, *arguments))
        except MissingScript:
            return await topology.call(keys[-1], pack("EVAL", self._text, len(keys), *keys, *arguments))


_STEP = _Many(_TEXT)
_SWEEP = _Many(
    """
local due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[2])
local swept = 0
for _, member in ipairs(due) do
    local ends = string.find(member, '\\0', 1, true)
    if string.sub(member, 1, ends - 1) == ARGV[1] then
        local key = string.sub(member, ends + 1)
        local stored = redis.call('HGET', KEYS[1], key)
        redis.call('ZREM', KEYS[3], member)
        redis.call('ZREM', KEYS[2], key)
        if stored then
            redis.call('HDEL', KEYS[1], key)
            local bytes = 31 - #key - #stored
            redis.call('HINCRBY', KEYS[4], ARGV[1], bytes)
            redis.call('HINCRBY', KEYS[4], '', bytes)
        end
        swept = swept + 1
        if swept == tonumber(ARGV[3]) then
            return swept
        end
    end
end
return swept
"""
)
_DROP = _Many(
    """
local bytes = tonumber(redis.call('HGET', KEYS[4], ARGV[1]) or 0)
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('HDEL', KEYS[4], ARGV[1])
if bytes ~= 0 and redis.call('HINCRBY', KEYS[4], '', -bytes) == 0 then
    redis.call('HDEL', KEYS[4], '')
end
return bytes
"""
)
