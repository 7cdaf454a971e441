"""Steps in two parts: no operation begins after the attempt of its caller has ended."""

import pytest

from backends import MemorySettings
from backends.errors import NotBegun
from backends.interface import Keyspace
from backends.memory.backend import MemoryBackend
from backends.sequential import SequentialSteps
from backends.tables import (
    FAILED,
    Budget,
    Charges,
    Done,
    PutEntry,
    Revision,
    Step,
    StoredEntry,
    Table,
    Written,
)

TABLE = Table("o/a/e", Keyspace("t"))
CHARGES = Charges((Budget("o/a/e", 100),), 60_000, 3)
PUTS = [PutEntry(key, StoredEntry(b"1", None, Revision(key))) for key in "abc"]


@pytest.fixture
def store(clock) -> MemoryBackend:
    return MemoryBackend(MemorySettings(), clock)


async def step(store: MemoryBackend, *, begun: int) -> Step:
    """Puts three entries for an attempt that ends after some of them have begun."""
    verdicts = iter([True] * begun + [False] * 3)
    steps = SequentialSteps(store.counters, store.tables)
    return await steps.step(CHARGES, TABLE, PUTS, 0, may_begin=lambda: next(verdicts))


@pytest.mark.parametrize("begun", [1, 2])
async def test_an_attempt_that_ends_within_a_batch_begins_no_further_operation(store, begun):
    done = await step(store, begun=begun)
    assert isinstance(done, Done)
    written = [Written(put.entry.revision) for put in PUTS[:begun]]
    assert list(done.results) == written + [FAILED] * (3 - begun)
    assert (await store.tables.count(TABLE, 0)).entries == begun


async def test_an_attempt_that_ends_during_the_charge_begins_no_operation(store):
    with pytest.raises(NotBegun):
        await step(store, begun=0)
    assert (await store.tables.count(TABLE, 0)).entries == 0
