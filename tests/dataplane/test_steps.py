"""A call's charge and operation are one step of the store; a call that is not admitted touches nothing."""

import pytest

from backends import MemorySettings
from backends.errors import BackendUnavailable, StoreFull
from backends.memory.backend import MemoryBackend
from backends.sequential import SequentialSteps
from backends.tables import ABSENT, PRESENT, Condition, Done, OldLayout
from gateway.domain.errors import (
    Overloaded,
    PreconditionFailed,
    QuotaUnavailable,
    RateLimited,
    StorageLimitReached,
    StorageUnavailable,
    TableNeedsUpgrade,
    ValueNotInteger,
)
from gateway.domain.model import (
    Batch,
    Counted,
    Delete,
    Deleted,
    Found,
    Get,
    Increment,
    List,
    Missing,
    NotDone,
    Put,
    Stored,
    Touch,
    Touched,
    UsageOutcome,
)
from tests.support.calls import LABELS, Caller, grant
from tests.support.stores import Faults, FaultyBackend

WRITES = [
    Put("k", b"2", None),
    Delete("k"),
    Increment("k", 1, None),
    Touch("k", None),
    Batch((Get("k"), Delete("k"))),
]
READS = [Get("k"), List("", "", 10, has_values=False), Batch((Get("k"),))]


class Left:
    """An attempt whose client has left after so many questions."""

    def __init__(self, after: int) -> None:
        self.asked, self._after = 0, after

    def may_write(self) -> bool:
        self.asked += 1
        return self.asked <= self._after


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def backend(clock, faults):
    return FaultyBackend(MemoryBackend(MemorySettings(), clock), faults)


@pytest.fixture
def caller(clock, backend) -> Caller:
    return Caller(backend.charged, clock)


@pytest.fixture
def apart(clock, backend) -> Caller:
    """A caller on a store that charges in calls of its own."""
    return Caller(SequentialSteps(backend.counters, backend.tables), clock)


async def test_every_operation_has_its_outcome(caller, clock):
    table = grant()
    stored = await caller.execute(table, Put("k", b"1", 60))
    assert isinstance(stored, Stored)
    expires_at_ms = clock.wall_ms() + 60_000
    assert await caller.execute(table, Get("k")) == Found(b"1", expires_at_ms, stored.revision)
    counted = await caller.execute(table, Increment("k", 2, None))
    assert isinstance(counted, Counted)
    assert (counted.value, counted.expires_at_ms) == (3, expires_at_ms)
    touched = await caller.execute(table, Touch("k", None, Condition(revision=counted.revision)))
    assert isinstance(touched, Touched)
    assert touched.expires_at_ms is None
    listed = await caller.execute(table, List("", "", 10, has_values=True))
    assert [(key, entry.value) for key, entry in listed.entries] == [("k", b"3")]
    assert await caller.execute(table, Delete("k", Condition(revision=touched.revision))) == Deleted()
    assert await caller.execute(table, Get("k")) == await caller.execute(table, Touch("k", 60)) == Missing()


@pytest.mark.parametrize("operation", [Put("k", b"2", None, ABSENT), Delete("k", Condition(revision="x"))])
async def test_an_unmet_condition_is_refused_with_the_revision_of_the_live_entry(caller, operation):
    stored = await caller.execute(grant(), Put("k", b"1", None))
    with pytest.raises(PreconditionFailed) as caught:
        await caller.execute(grant(), operation)
    assert caught.value.revision == stored.revision


async def test_an_unmet_condition_without_an_entry_has_no_revision(caller):
    with pytest.raises(PreconditionFailed) as caught:
        await caller.execute(grant(), Put("k", b"1", None, PRESENT))
    assert caught.value.revision is None


async def test_what_is_no_integer_is_not_incremented(caller):
    await caller.execute(grant(), Put("k", b"1.0", None))
    with pytest.raises(ValueNotInteger):
        await caller.execute(grant(), Increment("k", 1, None))


async def test_refusals_by_the_storage_limit_are_counted_by_app_environment(caller):
    small = grant(max_bytes=4)
    with pytest.raises(StorageLimitReached):
        await caller.execute(small, Put("k", b"12345", None))
    done = await caller.execute(small, Batch((Put("a", b"123", None), Put("b", b"1", None))))
    assert isinstance(done.results[0], Stored)
    assert done.results[1] == NotDone("storage_limit_reached", UsageOutcome.ERROR)
    assert caller.limited.by_app() == {(LABELS.org, LABELS.app, LABELS.env): 2}


@pytest.mark.parametrize("operation", [*WRITES, *READS])
async def test_a_refused_charge_touches_no_entry(caller, faults, operation):
    full = grant(("env", 1))
    await caller.execute(full, Put("k", b"1", None))
    with pytest.raises(RateLimited):
        await caller.execute(full, operation)
    assert isinstance(await caller.execute(grant(), Get("k")), Found)


@pytest.mark.parametrize("operation", WRITES)
async def test_a_write_that_may_not_begin_is_neither_charged_nor_executed(caller, faults, operation):
    with pytest.raises(Overloaded):
        await caller.execute(grant(), operation, Left(after=0))
    assert faults.calls == []


@pytest.mark.parametrize("operation", WRITES)
async def test_a_write_whose_client_leaves_during_the_charge_is_not_executed(apart, faults, operation):
    with pytest.raises(Overloaded):
        await apart.execute(grant(), operation, Left(after=1))
    assert [name for name, _ in faults.calls] == ["charge"]


@pytest.mark.parametrize("operation", READS)
async def test_a_read_is_executed_even_if_nobody_waits(apart, caller, operation):
    for each in (apart, caller):
        await each.execute(grant(), operation, Left(after=0))


@pytest.mark.parametrize("error", [BackendUnavailable, StoreFull])
async def test_a_failed_charge_differs_from_a_failed_operation(caller, apart, faults, error):
    faults.error = error
    for each in (caller, apart):
        faults.fail = {"charge"}
        with pytest.raises(QuotaUnavailable):
            await each.execute(grant(), Get("k"))
        faults.fail = {"get"}
        with pytest.raises(StorageUnavailable):
            await each.execute(grant(), Get("k"))


@pytest.mark.parametrize("operation", [Put("k", b"1", None, ABSENT), Batch((Get("k"), Get("k")))])
async def test_a_table_of_an_old_layout_refuses_the_call_whole(clock, operation):
    class OldStore:
        async def step(self, _charges, _table, operations, *_, **__) -> Done:
            return Done((), (OldLayout(),) * len(operations))

    with pytest.raises(TableNeedsUpgrade):
        await Caller(OldStore(), clock).execute(grant(), operation)


async def test_a_batch_is_done_operation_by_operation(caller):
    done = await caller.execute(
        grant(),
        Batch((Put("a", b"1", None), Get("a"), Put("a", b"2", None, ABSENT), Delete("a"), Get("a"))),
    )
    stored, found, unmet, deleted, missing = done.results
    assert found == Found(b"1", None, stored.revision)
    assert unmet == NotDone("precondition_failed", UsageOutcome.PRECONDITION_FAILED)
    assert (deleted, missing) == (Deleted(), Missing())
