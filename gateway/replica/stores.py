"""Opens the stores of a replica."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from backends import StoreSettings
from backends.clock import Clock
from backends.interface import Backend, EntryStore, RecordStore, WindowCounter
from gateway.config.settings import Settings
from gateway.observability.stores import (
    ObservedEntryStore,
    ObservedRecordStore,
    ObservedWindowCounter,
    StoreObserver,
)

log = logging.getLogger("kvs.app")

OpenStore = Callable[[StoreSettings, Clock], Awaitable[Backend]]


class Stores(Struct, frozen=True):
    """The observed ports that the planes use, and the backend behind each dependency."""

    entries: EntryStore
    counters: WindowCounter
    records: RecordStore
    dependencies: dict[str, Backend]

    @property
    def backends(self) -> list[Backend]:
        """Backends behind the ports, each once."""
        return list(dict.fromkeys(self.dependencies.values()))

    def apply(self, settings: Settings) -> bool:
        """Uses other credentials for the same stores. Returns False if other changes need a restart."""
        store, counters = self.dependencies["store"], self.dependencies["counters"]
        if (settings.counters is None) != (store is counters):
            return False
        applied = [store.apply(settings.store)]
        if settings.counters is not None:
            applied.append(counters.apply(settings.counters))
        return all(applied)


async def open_stores(
    settings: Settings, clock: Clock, observers: Sequence[StoreObserver], open_store: OpenStore
) -> Stores:
    """Opens one store, or two if counters have their own. Neither needs to be reachable."""
    store = await open_store(settings.store, clock)
    counters = store if settings.counters is None else await open_store(settings.counters, clock)
    if "memory" in (store.name, counters.name):
        log.warning("the memory store serves one replica only, and loses its data when it ends")
    return Stores(
        entries=ObservedEntryStore(store.entries, store.name, observers),
        counters=ObservedWindowCounter(counters.counters, counters.name, observers),
        records=ObservedRecordStore(store.records, store.name, observers),
        dependencies={"store": store, "counters": counters, "directory": store},
    )
