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
        held = inner.tables._held
        return held.used_bytes + len(held.tables) + len(held._expiries._by_span) + len(inner.records._records)

    return Opened(replicas, clock.wall_ms, pass_time, left_over)
