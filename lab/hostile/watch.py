"""Resources and liveness of a gateway's process under attack."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import aiohttp

from tests.support.process import GatewayProcess


@dataclass
class Watch:
    """Records the resources of a gateway's process and its liveness probe while the block runs."""

    process: GatewayProcess
    most_kib: int = 0
    most_files: int = 0
    probes: int = 0
    failed_probes: list[str] = field(default_factory=list)
    slowest_probe: float = 0.0

    def __post_init__(self) -> None:
        self._folder = Path("/proc") / str(self.process.process.pid)
        self.first_kib, self.first_files = self.memory_kib(), self.open_files()

    def memory_kib(self) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def open_files(self) -> int:
        return len(list((self._folder / "fd").iterdir()))

    @property
    def grown_mib(self) -> float:
        return (self.most_kib - self.first_kib) / 1024

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._measure()

    def _measure(self) -> None:
        self.most_kib = max(self.most_kib, self.memory_kib())
        self.most_files = max(self.most_files, self.open_files())

    async def _watch(self) -> None:
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as http:
            while True:
                self._measure()
                await self._probe(http)
                await asyncio.sleep(0.1)

    async def _probe(self, http: aiohttp.ClientSession) -> None:
        began = time.monotonic()
        try:
            async with http.get(f"{self.process.urls['ops']}/livez") as answer:
                if answer.status != 200:
                    self.failed_probes.append(str(answer.status))
        except aiohttp.ClientError as fault:
            self.failed_probes.append(repr(fault))
        self.probes += 1
        self.slowest_probe = max(self.slowest_probe, time.monotonic() - began)
