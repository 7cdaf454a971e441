"""Every call of a store is timed, and its failure is counted and passed on."""

from functools import partial

import pytest

from backends import MemorySettings
from backends.errors import BackendMisconfigured, BackendUnavailable, StoreFull
from backends.interface import Keyspace
from backends.memory.backend import MemoryBackend
from backends.tables import (
    AddToEntry,
    Budget,
    Charges,
    DeleteEntry,
    GetEntry,
    ListEntries,
    PutEntry,
    Revisions,
    StoredEntry,
    Table,
    TouchEntry,
)
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import (
    ObservedChargedStore,
    ObservedRecordStore,
    ObservedTableStore,
    ObservedWindowCounter,
    StoreTimes,
)
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition
from tests.support.scraping import parse, total
from tests.support.stores import Faults, FaultyBackend

TABLE = Table("acme/shop/production", Keyspace("t2_a"))


class Observed:
    """The observed ports before a store that fails on command, and what is counted of them."""

    def __init__(self, clock) -> None:
        self.faults = Faults()
        self._metrics = ServiceMetrics()
        usage = Usage(max_series=22, idle_ms=1, now_ms=clock.monotonic_ms)
        self._exposition = Exposition(usage, self._metrics)
        inner = FaultyBackend(MemoryBackend(MemorySettings(), clock), self.faults)
        observers = [StoreTimes(self._metrics)]
        self.tables = ObservedTableStore(inner.tables, "kind", observers)
        self.charged = ObservedChargedStore(inner.charged, "kind", observers)
        self.counters = ObservedWindowCounter(inner.counters, "kind", observers)
        self.records = ObservedRecordStore(inner.records, "kind", observers)

    async def counted(self, operation: str) -> tuple[float, float]:
        """Counts of successful and failed calls."""
        samples = parse(await self._exposition.service())
        name, labels = "kvs_store_duration_seconds_count", {"backend": "kind", "operation": operation}
        return total(samples, name, **labels, outcome="ok"), total(samples, name, **labels, outcome="error")


REVISION = Revisions().next()
CHARGES = Charges((Budget("bucket", 10),), 60_000)
STEPS = {
    "put": PutEntry("k", StoredEntry(b"1", None, REVISION)),
    "get": GetEntry("k"),
    "delete": DeleteEntry("k"),
    "list": ListEntries("", "", 10, has_values=False, page_bytes=100),
    "increment": AddToEntry("k", 1, None, REVISION),
    "touch": TouchEntry("k", None, REVISION),
}


def _step(operation, observed):
    return observed.charged.step(CHARGES, TABLE, [operation], 0)


CALLS = {
    **{name: partial(_step, operation) for name, operation in STEPS.items()},
    "batch": lambda observed: observed.charged.step(CHARGES, TABLE, [*STEPS.values()], 0),
    "count": lambda observed: observed.tables.count(TABLE, 0),
    "drop": lambda observed: observed.tables.drop([TABLE]),
    "tidy": lambda observed: observed.tables.tidy([TABLE], 0),
    "charge": lambda observed: observed.counters.charge("bucket", 1, 60_000),
    "read": lambda observed: observed.records.read("app/a"),
    "swap": lambda observed: observed.records.swap("app/a", b"1", None),
    "page": lambda observed: observed.records.page("app/", after="", limit=10),
}
OPERATIONS = list(CALLS)


@pytest.fixture
def observed(clock) -> Observed:
    return Observed(clock)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_operation_is_shown_at_0_from_the_start(observed, operation):
    assert await observed.counted(operation) == (0, 0)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_call_that_ends_well_is_timed_once(observed, operation):
    await CALLS[operation](observed)
    assert await observed.counted(operation) == (1, 0)


@pytest.mark.parametrize("error", [BackendUnavailable, BackendMisconfigured, StoreFull])
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_failure_is_counted_as_one_and_passed_on(observed, operation, error):
    observed.faults.fail, observed.faults.error = {"get" if operation == "batch" else operation}, error
    with pytest.raises(error):
        await CALLS[operation](observed)
    assert await observed.counted(operation) == (0, 1)


@pytest.mark.parametrize(("operation", "name"), [*((each, name) for name, each in STEPS.items())])
async def test_operations_without_charges_are_timed_by_the_same_names(observed, operation, name):
    await observed.tables.execute(TABLE, operation, 0)
    assert await observed.counted(name) == (1, 0)


async def test_a_step_without_operations_is_timed_as_a_charge(observed):
    await observed.charged.step(CHARGES, TABLE, [], 0)
    assert await observed.counted("charge") == (1, 0)


async def test_a_refused_step_is_no_failure(observed):
    for _ in range(11):
        await _step(STEPS["get"], observed)
    assert await observed.counted("get") == (11, 0)


async def test_a_refused_charge_is_no_failure(observed):
    for _ in range(3):
        await observed.counters.charge("bucket", 1, 60_000)
    assert await observed.counted("charge") == (3, 0)


async def test_a_lost_swap_is_no_failure(observed):
    assert not await observed.records.swap("app/a", b"1", "1")
    assert await observed.counted("swap") == (1, 0)
