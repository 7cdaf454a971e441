"""A decorated store does everything that a store does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backends import open_backend
from backends.interface import Backend
from backends.settings import MemorySettings
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import MeteredEntryStore, MeteredRecordStore, MeteredWindowCounter
from tests.backends.conformance import StoreConformance
from tests.backends.conformance_base import Opened
from tests.backends.memory.test_stores import opened_memory
from tests.support.clock import FakeClock
from tests.support.stores import Faults, FaultyBackend


class _MeteredBackend:
    """The three metered ports before one store."""

    def __init__(self, inner: Backend) -> None:
        metrics = ServiceMetrics()
        self.name, self.ping, self.close = inner.name, inner.ping, inner.close
        self.entries = MeteredEntryStore(inner.entries, metrics, inner.name)
        self.counters = MeteredWindowCounter(inner.counters, metrics, inner.name)
        self.records = MeteredRecordStore(inner.records, metrics, inner.name)


class TestMeteredStores(StoreConformance):
    """Two replicas that meter the same store."""

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Opened]:
        clock = FakeClock()
        inner = await open_backend(MemorySettings(), clock)
        yield opened_memory((_MeteredBackend(inner), _MeteredBackend(inner)), inner, clock)
        await inner.close()


class TestFaultyStoresWithoutFaults(StoreConformance):
    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Opened]:
        clock = FakeClock()
        inner = await open_backend(MemorySettings(), clock)
        yield opened_memory((FaultyBackend(inner, Faults()),), inner, clock)
        await inner.close()
