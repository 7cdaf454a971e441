"""Replicas of one port that take turns: a new one starts, the old one drains and is scraped until it ends."""

import asyncio
from typing import Any

import aiohttp

from tests.support.process import GatewayProcess

SHUTDOWN = {"drain_seconds": 0.3, "grace_seconds": 2}
UNLIMITED = {"rate_limit": {"requests_per_minute": 1_000_000_000}, "signature": {"mode": "required"}}


class Succession:
    """The running replica is `current`; `counted` is what the others said at their last scrape."""

    def __init__(self, start: Any, **changes: Any) -> None:
        self._start, self._changes = start, changes
        self._listen = changes.pop("listen", {}).get("data", {})
        self.current = self._open(port=0)
        self._port = int(self.current.urls["data"].rsplit(":", 1)[1])
        self.counted = 0
        self.exits: list[int] = []
        self.logs = ""

    async def replace(self, times: int) -> None:
        """The next one starts while the one before it drains; one that does not drain is always there."""
        await self._start_next()
        for _ in range(times - 1):
            await asyncio.gather(self._end(self._previous), self._start_next())
        await self._end(self._previous)

    async def end(self) -> None:
        await self._end(self.current)

    async def _end(self, replica: GatewayProcess) -> None:
        replica.signal()
        self.counted += await _last_usage(replica)
        self.exits.append(replica.wait())
        self.logs += replica.log.read_text()

    async def _start_next(self) -> None:
        started = await asyncio.to_thread(self._open, port=self._port)
        self._previous, self.current = self.current, started

    def _open(self, *, port: int) -> GatewayProcess:
        data = {**self._listen, "reuse_port": True, "port": port}
        return self._start(listen={"data": data}, shutdown=SHUTDOWN, **UNLIMITED, **self._changes)


async def _last_usage(replica: GatewayProcess) -> int:
    """The requests counted in the last scrape that is answered before the replica ends."""
    text = b""
    async with aiohttp.ClientSession() as http:
        while replica.process.poll() is None:
            try:
                async with http.get(f"{replica.urls['ops']}/metrics/usage") as answer:
                    text = await answer.read()
            except aiohttp.ClientError:
                continue
            await asyncio.sleep(0.02)
    lines = [line for line in text.decode().splitlines() if line.startswith("kvs_usage_requests_total{")]
    return sum(int(line.rpartition(" ")[2]) for line in lines)
