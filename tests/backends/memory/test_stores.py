"""The conformance suite for the memory store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backends import MemorySettings, open_backend
from backends.memory.backend import MemoryBackend
from tests.backends.conformance import StoreConformance
from tests.backends.conformance_base import Opened
from tests.support.clock import FakeClock


class TestMemory(StoreConformance):
    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Opened]:
        clock = FakeClock()
        backend = await open_backend(MemorySettings(), clock)
        yield opened_memory((backend,), backend, clock)
        await backend.close()


def opened_memory(replicas: tuple, inner: MemoryBackend, clock: FakeClock) -> Opened:
    """Opens `replicas` in front of one memory store."""

    async def pass_time(ms: int) -> None:
        clock.advance(ms)

    async def left_over() -> int:
        entries = (
            inner.entries.used_bytes
            + len(inner.entries._tables)
            + len(inner.entries._expiries._keys_by_second)
        )
        return entries + len(inner.records._records)

    return Opened(replicas, clock.wall_ms, pass_time, left_over)
