"""Replicas in processes of their own that are killed and replaced while clients go on."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from lab.faults.watch import Watch
from tests.support.config import BASE, merged
from tests.support.gateway import Gateway
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.replicas import log_of, until_ready

LONGEST_LAG_SECONDS = 2.0
"""Longest delay of a replica's event loop, on a busy machine."""

UNLIMITED = {"rate_limit": {"requests_per_minute": 1_000_000_000}}


class Fleet:
    """One replica per set of changes of the base configuration, all ready; use as a context manager.

    `gateways` always holds the client of the replica that is there now. `watch` checks that they live.
    """

    def __init__(
        self,
        folder: Path,
        changes: Sequence[dict[str, Any]],
        env: dict[str, str] | None = None,
        module: str = "gateway",
    ) -> None:
        self.gateways: list[Gateway] = []
        self.processes: list[GatewayProcess] = []
        self._folder, self._changes, self._env, self._module = folder, changes, env, module
        self._started = 0
        self._opened = AsyncExitStack()

    def kill(self, number: int) -> None:
        self.processes[number].kill()

    async def replace(self, number: int) -> None:
        """Start another in its place, at another address."""
        process, gateway = await self._start(self._changes[number])
        self.processes[number], self.gateways[number] = process, gateway

    async def __aenter__(self) -> Self:
        async with self._opened as opened:
            started = await asyncio.gather(*map(self._start, self._changes))
            self.processes = [process for process, _ in started]
            self.gateways = [gateway for _, gateway in started]
            self.watch = await opened.enter_async_context(Watch(self.gateways))
            self._opened = opened.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._opened.aclose()
        if kind is None:
            assert self.watch.lag < LONGEST_LAG_SECONDS + self.watch.own_lag
            self._assert_no_exception_was_unhandled()

    def _assert_no_exception_was_unhandled(self) -> None:
        for process in self.processes:
            assert [*log_of(process, "asyncio"), *log_of(process, "kvs.pipeline")] == []
            assert "Traceback" not in process.log.read_text()

    async def _start(self, changes: dict[str, Any]) -> tuple[GatewayProcess, Gateway]:
        self._started += 1
        folder = self._folder / f"replica{self._started}"
        folder.mkdir()
        config = merged(merged(BASE, UNLIMITED), changes)
        process = await asyncio.to_thread(GatewayProcess, config, folder, self._env, module=self._module)
        self._opened.push_async_callback(asyncio.to_thread, process.__exit__)
        gateway = await self._opened.enter_async_context(client_of(process))
        await until_ready(gateway)
        return process, gateway
