"""The embedded store: everything in this process, bounded, gone when it ends.

entries   `EntryStore`
calendar  which entries fall due in which second
counters  `WindowCounter`
records   `RecordStore`
"""

from backends.clock import Clock
from backends.memory.counters import MemoryWindowCounter
from backends.memory.entries import MemoryEntryStore
from backends.memory.records import MemoryRecordStore
from backends.settings import MemorySettings

__all__ = ["MemoryBackend"]


class MemoryBackend:
    """All three ports in plain dictionaries; each call is one step of the event loop, hence atomic."""

    name = "memory"
    clock_lead_seconds = None

    def __init__(self, settings: MemorySettings, clock: Clock) -> None:
        self._settings = settings
        self.entries = MemoryEntryStore(max_bytes=settings.max_bytes, now_ms=clock.wall_ms)
        self.counters = MemoryWindowCounter(now_ms=clock.monotonic_ms)
        self.records = MemoryRecordStore()

    async def ping(self) -> None:
        """Always there."""

    def apply(self, settings: object) -> bool:
        """There are no credentials."""
        return settings == self._settings

    async def close(self) -> None:
        """Nothing to give back."""
