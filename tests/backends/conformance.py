"""One conformance suite over all stores and their decorators.

An adapter's test class inherits `StoreConformance` and supplies `open_store`. A store that keeps real time
also sets `short_ms` and `slack_ms`.
"""

from tests.backends.conformance_base import BackendConformance
from tests.backends.conformance_counters import WindowCounterConformance
from tests.backends.conformance_entries import EntryConformance
from tests.backends.conformance_feed import FeedConformance, SharedFeedConformance
from tests.backends.conformance_records import RecordStoreConformance
from tests.backends.conformance_tables import TableConformance

__all__ = [
    "EntryConformance",
    "RecordStoreConformance",
    "SharedStoreConformance",
    "StoreConformance",
    "WindowCounterConformance",
]


class StoreConformance(
    BackendConformance,
    EntryConformance,
    WindowCounterConformance,
    RecordStoreConformance,
    FeedConformance,
    TableConformance,
):
    """The rules for every store."""


class SharedStoreConformance(StoreConformance, SharedFeedConformance):
    """The rules for a store that foreign programs can write to."""
