"""Shared by the conformance suites: an open store, and its time."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from backends.backend import Backend


async def _nothing() -> int:
    return 0


@dataclass(frozen=True)
class Opened:
    """A store, as one or more replicas have opened it.

    `pass_time` lets milliseconds pass; `left_over` counts entries and records where the test can.
    """

    replicas: tuple[Backend, ...]
    wall_ms: Callable[[], int]
    pass_time: Callable[[int], Awaitable[None]]
    left_over: Callable[[], Awaitable[int]] = _nothing


class Conformance:
    """Fixtures and settings of the suites."""

    window_ms = 60_000
    """Length of windows whose end no test waits for."""
    short_ms = 60_000
    """Length of windows whose end a test waits for; short where a store keeps real time."""
    slack_ms = 0
    """Time before the close at which a call is made so that its answer arrives before it."""

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
