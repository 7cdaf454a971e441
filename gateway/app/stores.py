"""The stores that the settings choose, behind the three ports."""

import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from backends.clock import Clock
from backends.interface import Backend, EntryStore, RecordStore, WindowCounter
from backends.settings import StoreSettings
from gateway.config.settings import Settings
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import (
    ObservedEntryStore,
    ObservedRecordStore,
    ObservedWindowCounter,
    StoreObserver,
    StoreTimes,
)
from gateway.observability.tracing.opening import Traces

log = logging.getLogger("kvs.app")

OpenStore = Callable[[StoreSettings, Clock], Awaitable[Backend]]


class Stores(Struct, frozen=True):
    """The three ports, timed and perhaps traced, and what stands behind each."""

    entries: EntryStore
    counters: WindowCounter
    records: RecordStore
    dependencies: dict[str, Backend]

    @property
    def backends(self) -> list[Backend]:
        """What stands behind the ports, each once."""
        return list(dict.fromkeys(self.dependencies.values()))

    def renew(self, settings: Settings) -> bool:
        """Use what the settings say of the same stores; False if they say something that needs a restart."""
        store, counters = self.dependencies["store"], self.dependencies["counters"]
        if (settings.counters is None) != (store is counters):
            return False
        renewed = [store.renew(settings.store)]
        if settings.counters is not None:
            renewed.append(counters.renew(settings.counters))
        return all(renewed)


async def open_stores(
    settings: Settings, clock: Clock, metrics: ServiceMetrics, open_store: OpenStore, tracing: Traces | None
) -> Stores:
    """Open them; none needs to be reachable yet."""
    store = await open_store(settings.store, clock)
    counters = store if settings.counters is None else await open_store(settings.counters, clock)
    if "memory" in (store.name, counters.name):
        log.warning("the memory store serves one replica only, and forgets everything when it ends")
    observers: list[StoreObserver] = [StoreTimes(metrics)]
    if tracing is not None:
        observers.append(tracing)
    return Stores(
        entries=ObservedEntryStore(store.entries, store.name, observers),
        counters=ObservedWindowCounter(counters.counters, counters.name, observers),
        records=ObservedRecordStore(store.records, store.name, observers),
        dependencies={"store": store, "counters": counters, "directory": store},
    )
