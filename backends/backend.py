"""An open store, its settings and its warnings."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from backends.interface import RecordStore, WindowCounter
from backends.tables import ChargedStore, TableStore


class AdapterSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of the settings of a store; its repr shows no values, because some are secret."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Yields keys with well-formed but impossible values, each with the reason."""
        yield from ()

    def mistakes_of_files(self) -> Iterator[tuple[str, str]]:
        """Yields keys that name unusable files, each with the reason."""
        yield from ()

    def secrets(self) -> Iterator[tuple[str, str]]:
        """Yields the secrets that are sent to the store, by their keys."""
        yield from ()


class StoreWarning(StrEnum):
    """A risk in the store's own settings. The store answers nevertheless."""

    EVICTION = "eviction"
    """The store may evict counters and entries to make room."""

    ISOLATED_MASTER = "isolated_master"
    """A master that is cut off from its replicas would keep acknowledging writes."""


class Backend(Protocol):
    """An open store."""

    @property
    def name(self) -> str:
        """The kind of store, by its name in the configuration and the metrics."""
        ...

    @property
    def tables(self) -> TableStore: ...

    @property
    def charged(self) -> ChargedStore:
        """The tables, charged to the store's own counters."""
        ...

    @property
    def counters(self) -> WindowCounter: ...

    @property
    def records(self) -> RecordStore: ...

    async def ping(self) -> None:
        """Raises a `BackendError` unless the store answers."""
        ...

    @property
    def clock_lead_seconds(self) -> float | None:
        """The lead of this machine's wall clock over the store's at the last ping; None if unknown."""
        ...

    @property
    def warnings(self) -> Mapping[StoreWarning, bool]:
        """Maps each warning to whether it applied at the last ping; unknown ones are missing."""
        ...

    def apply(self, settings: AdapterSettings) -> bool:
        """Uses the credentials in `settings` from the next connection on.

        Returns False, and changes nothing, if anything but the credentials differs from the settings of this
        store, for example its kind.
        """
        ...

    async def close(self) -> None:
        """Closes all connections; may be repeated."""
        ...
