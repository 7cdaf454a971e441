"""The opened stores of a replica."""

from msgspec import Struct

from backends.interface import Backend, EntryStore, RecordStore, WindowCounter
from gateway.config.settings import Settings


class Stores(Struct, frozen=True):
    """The ports as the planes use them, observed, and the backend behind each dependency."""

    entries: EntryStore
    counters: WindowCounter
    records: RecordStore
    dependencies: dict[str, Backend]

    @property
    def backends(self) -> list[Backend]:
        """What is behind the ports, each once."""
        return list(dict.fromkeys(self.dependencies.values()))

    def apply(self, settings: Settings) -> bool:
        """Use other credentials for the same stores; False if the settings ask for more than that."""
        store, counters = self.dependencies["store"], self.dependencies["counters"]
        if (settings.counters is None) != (store is counters):
            return False
        applied = [store.apply(settings.store)]
        if settings.counters is not None:
            applied.append(counters.apply(settings.counters))
        return all(applied)
