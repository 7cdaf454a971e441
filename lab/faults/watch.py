"""Replicas under load as an operator sees them: latency of the liveness probe, memory, open files."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.support.evidence import note
from tests.support.gateway import Gateway
from tests.support.process import GatewayProcess
from tests.support.stopwatch import HeldUp
from tests.support.wire import head, read_reply

EVERY_SECONDS = 0.05
_LIVEZ = head("/livez", [("Host", "localhost")], method="GET")


class Watch:
    """Asks each replica all the time, on a kept connection; `lag` is the longest it took, in seconds.

    That includes what kept the test's processes from their work: `own_lag` says how much that was at most.
    """

    def __init__(self, gateways: Sequence[Gateway]) -> None:
        self.lag = 0.0
        self.asked = 0
        self._gateways = gateways
        self._tasks: list[asyncio.Task[None]] = []
        self._held_up = HeldUp()

    @property
    def own_lag(self) -> float:
        return self._held_up.longest

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._ask(number)) for number in range(len(self._gateways))]
        await self._held_up.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._held_up.__aexit__()
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        note(held_up_seconds=self.lag)
        assert [fault for fault in ended if not isinstance(fault, asyncio.CancelledError)] == []

    async def _ask(self, number: int) -> None:
        """A replica that is killed and replaced is asked again when it is back."""
        while True:
            try:
                await self._ask_one(self._gateways[number])
            except (OSError, EOFError):
                await asyncio.sleep(EVERY_SECONDS)

    async def _ask_one(self, gateway: Gateway) -> None:
        reader, writer = await gateway.connect("ops")
        try:
            while True:
                started = time.monotonic()
                writer.write(_LIVEZ)
                assert (await read_reply(reader, 30)).status == 200
                self.lag = max(self.lag, time.monotonic() - started)
                self.asked += 1
                await asyncio.sleep(EVERY_SECONDS)
        finally:
            writer.transport.abort()


def memory_of(process: GatewayProcess) -> int:
    """Resident bytes."""
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def files_of(process: GatewayProcess) -> int:
    """Open ones, sockets included."""
    return len(list(Path(f"/proc/{process.process.pid}/fd").iterdir()))
