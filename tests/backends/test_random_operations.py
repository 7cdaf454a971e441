"""Any sequence of operations on tables behaves like a dictionary with a limit."""

import asyncio
from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from backends import MemorySettings
from backends.backend import Backend
from backends.interface import Keyspace
from backends.memory.backend import MemoryBackend
from backends.tables import (
    ABSENT,
    ANY,
    PRESENT,
    AddToEntry,
    Condition,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    NotInteger,
    Page,
    PutEntry,
    Removed,
    Revision,
    StoredEntry,
    Sum,
    Table,
    TouchEntry,
    Unmet,
    Written,
)
from tests.support.clock import FakeClock

LIMITS = [63, 63, 42]
"""Limits of an app that may be lowered: three, and two, of the entries with 21 bytes."""

HOME = "acme/shop/production"
KEYSPACES = [Keyspace("t2_a"), Keyspace("t2_b")]
KEYS = ["a", "ab", "b", "\u00e9", "\U0001f600"]
LARGEST = 2**53 - 1


@dataclass(frozen=True)
class Act:
    """An operation by its parts; those that its kind does not have are ignored."""

    kind: str
    keyspace: str
    max_bytes: int
    key: str
    value: bytes
    in_ms: int | None
    condition: str
    by: int
    limit: int


STEPS_MS = [1, 59, 63, 64, 936, 1000, 3_600_000]
SEEDS = st.integers(0, 2**32)


def acts_of(seed: int, length: int) -> list[Act | int]:
    """Draws acts and, now and then, a step of the clock: denser than lists of independent strategies."""
    draw = Random(seed)
    return [_act(draw) if draw.random() < 0.9 else draw.choice(STEPS_MS) for _ in range(length)]


def _act(draw: Random) -> Act:
    return Act(
        draw.choice(["put"] * 5 + ["get", "delete", "touch", "add", "list", "count"]),
        draw.choice(KEYSPACES),
        draw.choice(LIMITS),
        draw.choice(KEYS),
        draw.choice([b"x" * 20, b"x" * 20, b"x" * 20, b"", b" -7 ", b"1.5", b"9007199254740991"]),
        draw.choice([None, None, 1, 60, 64, 1000, 3_600_000]),
        draw.choice(["any", "any", "any", "any", "absent", "present", "same", "other"]),
        draw.choice([1, -1, 0, 10**9, LARGEST]),
        draw.randint(1, 4),
    )


@dataclass
class Model:
    """The rules in a few lines: `entries` by table and key."""

    entries: dict[tuple[str, str], StoredEntry] = field(default_factory=dict)

    def live(self, now_ms: int) -> dict[tuple[str, str], StoredEntry]:
        return {
            place: entry
            for place, entry in self.entries.items()
            if entry.expires_at_ms is None or entry.expires_at_ms > now_ms
        }

    def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        live = self.live(now_ms)
        if isinstance(operation, ListEntries):
            found = sorted((key, entry) for (name, key), entry in live.items() if name == table.keyspace)
            found = [each for each in found if each[0].startswith(operation.prefix)]
            return Page(tuple(found), None)
        place = (table.keyspace, operation.key)
        entry = live.get(place)
        if isinstance(operation, GetEntry):
            return entry or NoEntry()
        if isinstance(operation, AddToEntry):
            return self.add(table, operation, live)
        condition = operation.condition
        wanted = (
            condition == ANY
            or (condition == ABSENT and entry is None)
            or (condition == PRESENT and entry is not None)
            or (entry is not None and condition.revision == entry.revision)
        )
        if not wanted:
            return Unmet(entry.revision if entry else None)
        if isinstance(operation, PutEntry):
            return self.store(table, operation.key, operation.entry, live) or Written(
                operation.entry.revision
            )
        if isinstance(operation, DeleteEntry):
            self.entries.pop(place, None)
            return Removed()
        if entry is None:
            return NoEntry()
        self.entries[place] = StoredEntry(entry.value, operation.expires_at_ms, operation.revision)
        return Written(operation.revision)

    def add(self, table: Table, add: AddToEntry, live) -> EntryResult:
        entry = live.get((table.keyspace, add.key))
        text = b"0" if entry is None else entry.value.strip()
        digits = text.removeprefix(b"-")
        if not digits.isdigit() or (digits[:1] == b"0" and digits != b"0"):
            return NotInteger()
        total = int(text) + add.by
        if abs(int(text)) > LARGEST or abs(total) > LARGEST:
            return NotInteger()
        expires_at_ms = add.expires_at_ms if entry is None else entry.expires_at_ms
        stored = StoredEntry(b"%d" % total, expires_at_ms, add.revision)
        return self.store(table, add.key, stored, live) or Sum(total, expires_at_ms, add.revision)

    def store(self, table: Table, key: str, entry: StoredEntry, live) -> NoRoom | None:
        place = (table.keyspace, key)
        before = size_of(place, live[place]) if place in live else 0
        grows_by = size_of(place, entry) - before
        used = sum(size_of(each, kept) for each, kept in live.items())
        if table.max_bytes is not None and grows_by > 0 and used + grows_by > table.max_bytes:
            return NoRoom()
        self.entries[place] = entry
        return None


def size_of(place: tuple[str, str], entry: StoredEntry) -> int:
    return len(place[1].encode()) + len(entry.value)


class Run:
    """Does acts on a store and on the model, and compares results."""

    def __init__(self, store: Backend, clock: FakeClock, *, is_limited: bool, name: str = "") -> None:
        self._store = store
        self._clock = clock
        self._model = Model()
        self._is_limited = is_limited
        self._name = name
        self._writes = 0

    async def do(self, act: Act | int) -> None:
        if isinstance(act, int):
            self._clock.advance(act)
            return
        max_bytes = act.max_bytes if self._is_limited else None
        table = Table(self._name + HOME, Keyspace(self._name + act.keyspace), max_bytes)
        now_ms = self._clock.wall_ms()
        if act.kind == "count":
            await self._compare_counts(table)
        elif act.kind == "list":
            await self._compare_lists(table, act)
        else:
            operation = self._operation(table, act, now_ms)
            expected = self._model.execute(table, operation, now_ms)
            assert await self._store.tables.execute(table, operation, now_ms) == expected

    def _operation(self, table: Table, act: Act, now_ms: int) -> EntryOperation:
        self._writes += 1
        revision = Revision(f"{self._writes:022}")
        expires_at_ms = None if act.in_ms is None else now_ms + act.in_ms
        known = self._model.entries.get((table.keyspace, act.key))
        condition = {
            "any": ANY,
            "absent": ANY if act.kind == "touch" else ABSENT,
            "present": PRESENT,
            "same": Condition(revision=known.revision if known else "r" * 22),
            "other": Condition(revision="r" * 22),
        }[act.condition]
        match act.kind:
            case "put":
                return PutEntry(act.key, StoredEntry(act.value, expires_at_ms, revision), condition)
            case "delete":
                return DeleteEntry(act.key, ANY if condition == ABSENT else condition)
            case "touch":
                return TouchEntry(act.key, expires_at_ms, revision, condition)
            case "add":
                return AddToEntry(act.key, act.by, expires_at_ms, revision)
        return GetEntry(act.key)

    async def _compare_counts(self, table: Table) -> None:
        now_ms = self._clock.wall_ms()
        count = await self._store.tables.count(table, now_ms)
        if count.is_exact:
            live = {
                place: entry
                for place, entry in self._model.live(now_ms).items()
                if place[0] == table.keyspace
            }
            sizes = [size_of(place, entry) for place, entry in live.items()]
            assert (count.entries, count.bytes) == (len(sizes), sum(sizes))

    async def _compare_lists(self, table: Table, act: Act) -> None:
        now_ms = self._clock.wall_ms()
        whole = ListEntries(act.key[:1], "", 1000, has_values=True, page_bytes=2**20)
        expected = self._model.execute(table, whole, now_ms)
        found: list[tuple[str, StoredEntry]] = []
        after: str | None = ""
        while after is not None:
            listing = ListEntries(act.key[:1], after, act.limit, has_values=True, page_bytes=30)
            page = await self._store.tables.execute(table, listing, now_ms)
            assert len(page.entries) <= act.limit
            found += page.entries
            after = page.after
        assert tuple(found) == expected.entries


def check_memory(seed: int, *, is_limited: bool) -> None:
    async def run() -> None:
        clock = FakeClock()
        run = Run(MemoryBackend(MemorySettings(), clock), clock, is_limited=is_limited)
        for act in acts_of(seed, 200):
            await run.do(act)

    asyncio.run(run())


@settings(max_examples=40)
@given(SEEDS)
def test_memory_behaves_like_a_dictionary(seed):
    check_memory(seed, is_limited=False)


@settings(max_examples=80)
@given(SEEDS)
def test_memory_keeps_the_storage_limit_to_the_byte(seed):
    check_memory(seed, is_limited=True)
