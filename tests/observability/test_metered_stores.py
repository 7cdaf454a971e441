"""Every call of a store is timed, and its failure is counted and passed on."""

import pytest

from backends.errors import BackendMisconfigured, BackendUnavailable, StoreFull
from backends.interface import Entry, Keyspace
from backends.memory import MemoryBackend
from backends.settings import MemorySettings
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import MeteredEntryStore, MeteredRecordStore, MeteredWindowCounter
from gateway.opsplane.exposition import Exposition
from tests.support.scraping import parse, total, usage_of
from tests.support.stores import Faults, FaultyBackend

TABLE = Keyspace("tbl_a")


class Metered:
    """The three metered ports before a store that fails on command, and what they count."""

    def __init__(self, clock) -> None:
        self.faults = Faults()
        self._metrics = ServiceMetrics()
        self._exposition = Exposition(usage_of(0, clock), self._metrics)
        inner = FaultyBackend(MemoryBackend(MemorySettings(), clock), self.faults)
        self.entries = MeteredEntryStore(inner.entries, self._metrics, "kind")
        self.counters = MeteredWindowCounter(inner.counters, self._metrics, "kind")
        self.records = MeteredRecordStore(inner.records, self._metrics, "kind")

    async def list(self) -> None:
        async for _ in self.records.list("app/"):
            pass

    async def counted(self, operation: str) -> tuple[float, float]:
        """How many calls ended well, and how many did not."""
        samples = parse(await self._exposition.service())
        name, labels = "kvs_store_duration_seconds_count", {"backend": "kind", "operation": operation}
        return total(samples, name, **labels, outcome="ok"), total(samples, name, **labels, outcome="error")


CALLS = {
    "put": lambda metered: metered.entries.put(TABLE, "k", Entry(b"1", None)),
    "get": lambda metered: metered.entries.get(TABLE, "k"),
    "delete": lambda metered: metered.entries.delete(TABLE, "k"),
    "purge": lambda metered: metered.entries.purge(TABLE),
    "charge": lambda metered: metered.counters.charge("bucket", 1, 60_000),
    "read": lambda metered: metered.records.read("app/a"),
    "swap": lambda metered: metered.records.swap("app/a", b"1", None),
    "list": lambda metered: metered.list(),
}
OPERATIONS = list(CALLS)


@pytest.fixture
def metered(clock) -> Metered:
    return Metered(clock)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_operation_stands_at_0_from_the_start(metered, operation):
    assert await metered.counted(operation) == (0, 0)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_call_that_ends_well_is_timed_once(metered, operation):
    await CALLS[operation](metered)
    assert await metered.counted(operation) == (1, 0)


@pytest.mark.parametrize("error", [BackendUnavailable, BackendMisconfigured, StoreFull])
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_failure_is_counted_as_one_and_passed_on(metered, operation, error):
    metered.faults.fail, metered.faults.error = {operation}, error
    with pytest.raises(error):
        await CALLS[operation](metered)
    assert await metered.counted(operation) == (0, 1)


async def test_a_refused_charge_is_no_failure(metered):
    for _ in range(3):
        await metered.counters.charge("bucket", 1, 60_000)
    assert await metered.counted("charge") == (3, 0)


async def test_a_lost_swap_is_no_failure(metered):
    assert not await metered.records.swap("app/a", b"1", "1")
    assert await metered.counted("swap") == (1, 0)
