"""A decorated store does everything that a store does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backends import MemorySettings, open_backend
from backends.backend import Backend
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import (
    ObservedChargedStore,
    ObservedRecordStore,
    ObservedTableStore,
    ObservedWindowCounter,
    StoreTimes,
)
from tests.backends.conformance import StoreConformance
from tests.backends.conformance_base import Opened
from tests.backends.memory.test_stores import opened_memory
from tests.support.clock import FakeClock
from tests.support.stores import Faults, FaultyBackend


class _Awaits:
    """An observer that does nothing but await in between."""

    def wrapper(self, _backend: str, _operation: str):
        async def observe(call):
            return await call

        return observe


class _ObservedBackend:
    """The ports of one store, each between two observers."""

    def __init__(self, inner: Backend) -> None:
        observers = [StoreTimes(ServiceMetrics()), _Awaits()]
        self.name, self.ping, self.close = inner.name, inner.ping, inner.close
        self.tables = ObservedTableStore(inner.tables, inner.name, observers)
        self.charged = ObservedChargedStore(inner.charged, inner.name, observers)
        self.counters = ObservedWindowCounter(inner.counters, inner.name, observers)
        self.records = ObservedRecordStore(inner.records, inner.name, observers)


class TestObservedStores(StoreConformance):
    """Two replicas that observe the same store."""

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Opened]:
        clock = FakeClock()
        inner = await open_backend(MemorySettings(), clock)
        yield opened_memory((_ObservedBackend(inner), _ObservedBackend(inner)), inner, clock)
        await inner.close()


class TestFaultyStoresWithoutFaults(StoreConformance):
    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Opened]:
        clock = FakeClock()
        inner = await open_backend(MemorySettings(), clock)
        yield opened_memory((FaultyBackend(inner, Faults()),), inner, clock)
        await inner.close()
