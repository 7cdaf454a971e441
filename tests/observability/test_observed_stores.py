"""Every call of a store is timed, and its failure is counted and passed on."""

import pytest

from backends import MemorySettings
from backends.errors import BackendMisconfigured, BackendUnavailable, StoreFull
from backends.interface import Entry, Keyspace
from backends.memory.backend import MemoryBackend
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import (
    ObservedEntryStore,
    ObservedRecordStore,
    ObservedWindowCounter,
    StoreTimes,
)
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition
from tests.support.scraping import parse, total
from tests.support.stores import Faults, FaultyBackend

TABLE = Keyspace("tbl_a")


class Observed:
    """The three observed ports before a store that fails on command, and what is counted of them."""

    def __init__(self, clock) -> None:
        self.faults = Faults()
        self._metrics = ServiceMetrics()
        usage = Usage(max_series=22, idle_ms=1, now_ms=clock.monotonic_ms)
        self._exposition = Exposition(usage, self._metrics)
        inner = FaultyBackend(MemoryBackend(MemorySettings(), clock), self.faults)
        observers = [StoreTimes(self._metrics)]
        self.entries = ObservedEntryStore(inner.entries, "kind", observers)
        self.counters = ObservedWindowCounter(inner.counters, "kind", observers)
        self.records = ObservedRecordStore(inner.records, "kind", observers)

    async def counted(self, operation: str) -> tuple[float, float]:
        """Counts of successful and failed calls."""
        samples = parse(await self._exposition.service())
        name, labels = "kvs_store_duration_seconds_count", {"backend": "kind", "operation": operation}
        return total(samples, name, **labels, outcome="ok"), total(samples, name, **labels, outcome="error")


CALLS = {
    "put": lambda observed: observed.entries.put(TABLE, "k", Entry(b"1", None)),
    "get": lambda observed: observed.entries.get(TABLE, "k"),
    "delete": lambda observed: observed.entries.delete(TABLE, "k"),
    "purge": lambda observed: observed.entries.purge([TABLE], None),
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
    observed.faults.fail, observed.faults.error = {operation}, error
    with pytest.raises(error):
        await CALLS[operation](observed)
    assert await observed.counted(operation) == (0, 1)


async def test_a_refused_charge_is_no_failure(observed):
    for _ in range(3):
        await observed.counters.charge("bucket", 1, 60_000)
    assert await observed.counted("charge") == (3, 0)


async def test_a_lost_swap_is_no_failure(observed):
    assert not await observed.records.swap("app/a", b"1", "1")
    assert await observed.counted("swap") == (1, 0)
