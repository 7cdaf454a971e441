"""Opens the stores of a replica."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from backends import StoreSettings
from backends.backend import Backend
from backends.clock import Clock
from backends.interface import RecordStore, WindowCounter
from backends.sequential import SequentialSteps
from backends.tables import ChargedStore, TableStore
from gateway.config.settings import Settings
from gateway.observability.stores import (
    ObservedChargedStore,
    ObservedRecordStore,
    ObservedTableStore,
    ObservedWindowCounter,
    StoreObserver,
)

log = logging.getLogger("kvs.app")

OpenStore = Callable[[StoreSettings, Clock], Awaitable[Backend]]


class Stores(Struct, frozen=True):
    """The observed ports that the planes use, and the backend behind each dependency."""

    tables: TableStore
    charged: ChargedStore
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
    tables = ObservedTableStore(store.tables, store.name, observers)
    observed_counters = ObservedWindowCounter(counters.counters, counters.name, observers)
    charged: ChargedStore
    if counters is store and not isinstance(store.charged, SequentialSteps):
        charged = ObservedChargedStore(store.charged, store.name, observers)
    else:
        is_lenient = settings.rate_limit.on_failure == "allow"
        charged = SequentialSteps(observed_counters, tables, is_lenient=is_lenient)
    return Stores(
        tables=tables,
        charged=charged,
        counters=observed_counters,
        records=ObservedRecordStore(store.records, store.name, observers),
        dependencies={"store": store, "counters": counters, "directory": store},
    )
