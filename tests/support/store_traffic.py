"""Calls of one store from several tasks, and what became of each."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from backends.backend import Backend
from backends.errors import BackendError, BackendUnavailable
from backends.interface import Keyspace
from backends.tables import Table
from tests.support import entries
from tests.support.entries import Entry
from tests.support.stopwatch import PATIENCE_SECONDS, HeldUp

TABLE = Keyspace("t2_traffic")
PAUSE_SECONDS = 0.005
DEADLINE_SECONDS = 0.25
"""Duration of calls, if a test does not set another."""
_SLACK_SECONDS = 0.05


@dataclass(frozen=True)
class Call:
    """Times are the event loop's, in seconds."""

    key: str
    began: float
    ended: float
    fault: BackendError | None

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Traffic:
    """Each key is put with a rising number and read back, by a task of its own.

    Keys lie in the home that stands before the first slash: those of one home share a slot of a cluster.

    A value of another key fails the test at once; a put that was acknowledged and is not found is noted in
    `lost`, because a failover may lose what was not replicated yet.
    """

    def __init__(self, backend: Backend, keys: Sequence[str], deadline_seconds: float) -> None:
        self.calls: list[Call] = []
        self.lost: list[str] = []
        self._backend = backend
        self._latest_seconds = deadline_seconds + _SLACK_SECONDS
        self._keys = keys
        self._served_at = dict.fromkeys(keys, 0.0)
        self._is_over = False
        self.held_up = HeldUp()

    @property
    def faults(self) -> list[Call]:
        return [call for call in self.calls if call.fault is not None]

    @property
    def outage_seconds(self) -> float:
        """From the first call that failed to the last, without what this process was held up meanwhile."""
        faults = self.faults
        return faults[-1].ended - faults[0].began - self.held_up.total if faults else 0.0

    @property
    def usual_refusal_seconds(self) -> float:
        return median(call.seconds for call in self.faults)

    def assert_faults_were_in_time(self) -> None:
        assert [call for call in self.faults if not isinstance(call.fault, BackendUnavailable)] == []
        assert max(call.seconds for call in self.calls) < self._latest_seconds + self.held_up.longest

    async def until_served(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Until every key was put and read back once more; not counted is how long this was held up."""
        loop = asyncio.get_running_loop()
        since, held_up = loop.time(), self.held_up.total
        async with asyncio.timeout(PATIENCE_SECONDS):
            while min(self._served_at.values()) <= since:  # noqa: ASYNC110 - many tasks take part
                await asyncio.sleep(PAUSE_SECONDS)
        assert loop.time() - since - (self.held_up.total - held_up) < seconds

    async def until_failed(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Until a call has failed that had not before."""
        known = len(self.faults)
        async with asyncio.timeout(seconds):
            while len(self.faults) == known:  # noqa: ASYNC110 - as above
                await asyncio.sleep(PAUSE_SECONDS)

    def end(self) -> None:
        self._is_over = True

    async def run(self, key: str) -> None:
        table = Table(key.partition("/")[0], TABLE)
        for number in itertools.count(1):
            if self._is_over:
                return
            began = asyncio.get_running_loop().time()
            entry = Entry(f"{key} {number}".encode(), None)
            if await self._note(key, entries.put(self._backend, table, key, entry)) is not _FAILED:
                found = await self._note(key, entries.get(self._backend, table, key))
                if found is not _FAILED:
                    self._judge(key, entry, found)
                    self._served_at[key] = began
            await asyncio.sleep(PAUSE_SECONDS)

    def _judge(self, key: str, put: Entry, found: Entry | None) -> None:
        if found is not None:
            assert found.value.startswith(f"{key} ".encode()), "a reply reached another call"
        if found != put:
            self.lost.append(f"put {put!r}, found {found!r}")

    async def _note(self, key: str, call: Any) -> Any:
        loop = asyncio.get_running_loop()
        began, fault, result = loop.time(), None, _FAILED
        try:
            result = await call
        except BackendError as error:
            fault = error
        self.calls.append(Call(key, began, loop.time(), fault))
        return result


_FAILED = object()


@asynccontextmanager
async def traffic(
    backend: Backend, keys: Sequence[str], deadline_seconds: float = DEADLINE_SECONDS
) -> AsyncIterator[Traffic]:
    """Runs as long as the context lasts, and has been served once when it begins."""
    running = Traffic(backend, keys, deadline_seconds)
    async with running.held_up, asyncio.TaskGroup() as tasks:
        for key in keys:
            tasks.create_task(running.run(key))
        try:
            await running.until_served()
            yield running
        finally:
            running.end()
