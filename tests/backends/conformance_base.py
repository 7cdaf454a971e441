"""What the conformance suites share: an opened store, and how time passes for it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from backends.interface import Backend


async def _nothing() -> int:
    return 0


@dataclass(frozen=True)
class Opened:
    """A store, as one or more replicas hold it.

    `pass_time` lets so many milliseconds go by; `left_over` counts entries and
    records, where the store can tell.
    """

    replicas: tuple[Backend, ...]
    wall_ms: Callable[[], int]
    pass_time: Callable[[int], Awaitable[None]]
    left_over: Callable[[], Awaitable[int]] = _nothing


class Conformance:
    """What the three suites share."""

    window_ms = 60_000
    """Of windows whose end no test waits for."""
    short_ms = 60_000
    """Of those whose end a test waits for; short where a store keeps real time."""
    slack_ms = 0
    """How long before the close a call is made so that its answer comes before it."""

    def open_store(self) -> AbstractAsyncContextManager[Opened]:
        raise NotImplementedError

    @pytest.fixture
    async def opened(self) -> AsyncIterator[Opened]:
        async with self.open_store() as opened:
            yield opened

    @pytest.fixture
    def store(self, opened: Opened) -> Backend:
        return opened.replicas[0]


class BackendConformance(Conformance):
    async def test_an_open_store_answers(self, store):
        await store.ping()

    async def test_closing_may_be_repeated(self, store):
        await store.close()
        await store.close()

    async def test_a_store_has_a_name(self, store):
        assert store.name
