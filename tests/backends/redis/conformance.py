"""The conformance suite for two replicas on one Redis of any topology."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import ClassVar

from backends import RedisSettings, open_backend
from backends.backend import Backend
from backends.clock import SystemClock
from backends.redis.wire.commands import pack
from tests.backends.conformance import SharedStoreConformance
from tests.backends.conformance_base import Opened
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.stores import first_answer

PREFIX = "kvs"


@asynccontextmanager
async def opened_redis(url: str, **settings) -> AsyncIterator[Backend]:
    """Opens a replica's store and waits until it answers."""
    backend = await open_backend(RedisSettings(url=url, **settings), SystemClock())
    try:
        await first_answer(backend)
        yield backend
    finally:
        await backend.close()


async def pass_time(ms: int) -> None:
    """Sleeps: Redis keeps its own time."""
    await asyncio.sleep(ms / 1000)


class RedisConformance(SharedStoreConformance):
    """The suite; a test class sets `settings` and `servers` while it runs."""

    short_ms = 1500
    slack_ms = 400
    settings: ClassVar[dict[str, str]]
    servers: ClassVar[Iterable[RedisServer]]

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Opened]:
        with deadlines_of():
            async with opened_redis(**self.settings) as one, opened_redis(**self.settings) as other:
                yield Opened((one, other), SystemClock().wall_ms, pass_time, self._left_over)

    async def intrude(self, opened: Opened) -> None:
        feed = opened.replicas[0].records._feed
        await feed._topology.call(feed._keys.changes, pack("XADD", feed._keys.changes, "*", "other", b"\xff"))

    async def _left_over(self) -> int:
        """Counts entries and records; counters expire by themselves."""
        kinds = (b":e:", b":t:", b":n:", b":x:", b":b:", b":records", b":names:")
        names = [name for server in self.servers for name in server.command("KEYS", f"{PREFIX}:*")]
        return sum(any(name.startswith(PREFIX.encode() + kind) for kind in kinds) for name in names)
