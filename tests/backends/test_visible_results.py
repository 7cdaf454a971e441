"""Any sequence of operations behaves like a dictionary."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from backends import MemorySettings
from backends.interface import Backend, Entry, Keyspace
from backends.memory.backend import MemoryBackend
from backends.memory.entries import _cost
from backends.tables import Budget, Charges, Revision, Table
from gateway.dataplane.pipeline import Executor, MeteredCall
from gateway.domain.call import Call, Headers
from gateway.domain.model import (
    Delete,
    Deleted,
    Found,
    Get,
    Grant,
    Missing,
    Operation,
    Put,
    Stored,
    TenantLabels,
)
from gateway.observability.usage import Usage
from tests.support.clock import FakeClock

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
                return Stored(Revision(""))
            case Delete():
                self._entries.pop(entry_key, None)
                return Deleted()
            case Get():
                value, expires_at_ms = self._entries.get(entry_key, (b"", 0))
                is_there = expires_at_ms is None or now_ms < expires_at_ms
                return Found(value, expires_at_ms, Revision("")) if is_there else Missing()


def metered_call(table: str, clock: FakeClock) -> MeteredCall:
    """A granted call of `table`."""
    grant = Grant(
        Table("o/a/e", Keyspace(table)),
        Charges((Budget("o/a/e", 10**9),), 60_000),
        TenantLabels("o", "a", "e", table),
    )
    usage = Usage(max_series=1000, idle_ms=1000, now_ms=clock.monotonic_ms)
    return MeteredCall(usage, grant, Call(Operation.GET, b"/", Headers(()), b"", ""))


async def check(acts: list, store: Backend, clock: FakeClock) -> None:
    """Fails unless `store`, which has no other users, behaves like the model."""
    executor = Executor(store.entries, clock)
    model = Model(clock)
    for act in acts:
        match act:
            case int(step_ms):
                clock.advance(step_ms)
            case (table, request):
                seen = await executor.execute(metered_call(table, clock), request)
                assert seen == model.execute(table, request)


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
    room = 2 * sum(_cost(name, Entry(LONGEST_VALUE, 1)) for name in NAMES)
    check_memory(acts, room)
