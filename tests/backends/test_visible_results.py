"""Any sequence of operations behaves like a dictionary."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from backends import MemorySettings
from backends.backend import Backend
from backends.memory.backend import MemoryBackend
from backends.memory.held import cost_of
from backends.tables import Revision, StoredEntry
from gateway.domain.model import Delete, Deleted, Found, Get, Missing, Put, Stored
from tests.support.calls import Caller, grant
from tests.support.clock import FakeClock

ANYTHING = Revision("")
"""A substitute for the revision of any write."""

NAMES = ["a", "\u00e9", "e\u0301", "k" * 512]
LONGEST_VALUE = b'"' + b"x" * 500 + b'"'
KEYS = st.sampled_from(NAMES)
TABLES = st.sampled_from(["tbl_a", "tbl_a", "tbl_b"])
VALUES = st.sampled_from([b"null", b"0", b'{"a":1}', LONGEST_VALUE])
TTL_SECONDS = st.sampled_from([None, 60, 60, 61, 3600, 31_536_000])
STEPS_MS = st.sampled_from([1, 999, 1000, 59_999, 60_000, 3_600_000, 31_535_999_999])
ACTS = st.one_of(
    st.tuples(TABLES, st.builds(Put, KEYS, VALUES, TTL_SECONDS)),
    st.tuples(TABLES, st.builds(Get, KEYS)),
    st.tuples(TABLES, st.builds(Delete, KEYS)),
    STEPS_MS,
)


class Model:
    """The specification as a dictionary."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, str], tuple[bytes, int | None]] = {}

    def execute(self, table: str, request: Put | Get | Delete) -> Stored | Found | Missing | Deleted:
        now_ms = self._clock.wall_ms()
        entry_key = (table, request.key)
        match request:
            case Put(_, value, ttl_seconds):
                expires_at_ms = None if ttl_seconds is None else now_ms + ttl_seconds * 1000
                self._entries[entry_key] = (value, expires_at_ms)
                return Stored(ANYTHING)
            case Delete():
                self._entries.pop(entry_key, None)
                return Deleted()
            case Get():
                value, expires_at_ms = self._entries.get(entry_key, (b"", 0))
                is_there = expires_at_ms is None or now_ms < expires_at_ms
                return Found(value, expires_at_ms, ANYTHING) if is_there else Missing()


def without_revision(outcome: Any) -> Any:
    """Replaces the revision of an outcome that has one."""
    return replace(outcome, revision=ANYTHING) if isinstance(outcome, Stored | Found) else outcome


async def check(acts: list, store: Backend, clock: FakeClock) -> None:
    """Fails unless `store`, which has no other users, behaves like the model."""
    caller = Caller(store.charged, clock)
    model = Model(clock)
    for act in acts:
        match act:
            case int(step_ms):
                clock.advance(step_ms)
            case (table, request):
                seen = await caller.execute(grant(table=table), request)
                assert without_revision(seen) == model.execute(table, request)


def check_memory(acts: list, max_bytes: int) -> None:
    clock = FakeClock()
    asyncio.run(check(acts, MemoryBackend(MemorySettings(max_bytes=max_bytes), clock), clock))


@settings(max_examples=150, deadline=None)
@given(st.lists(ACTS, max_size=60))
def test_a_sequence_of_operations_behaves_like_a_dictionary(acts):
    check_memory(acts, 2**30)


@settings(max_examples=75, deadline=None)
@given(st.lists(ACTS, max_size=60))
def test_a_store_with_barely_enough_room_shows_the_same(acts):
    """The room fits every key at its largest and no more, so expired entries must go in time."""
    room = 2 * sum(cost_of(name, StoredEntry(LONGEST_VALUE, 1, ANYTHING)) for name in NAMES)
    check_memory(acts, room)
