"""Two replicas under steady load while something breaks every ten seconds, drawn from one seed.

Every answer is right, or a 503 in time; nothing acknowledged is lost; memory and open files stay level.
"""

import asyncio
import random
import signal
import time
from contextlib import AsyncExitStack

import pytest

from lab.faults.fleet import Fleet
from lab.faults.recovery import assert_right_and_in_time, check_all, until_served
from lab.faults.watch import files_of, memory_of
from tests.support.evidence import note_fault
from tests.support.link import Link
from tests.support.load import Load
from tests.support.redis import RedisServer

SEED = 20261120
PER_SECOND = 300
MEGABYTE = 1_000_000


class Soak:
    """One region and what may break in it; each fault is repaired before it returns."""

    def __init__(self, server: RedisServer, links: list[Link], fleet: Fleet) -> None:
        self._server, self._links, self._fleet = server, links, fleet
        self.dice = random.Random(SEED)
        self.faults = (
            self.kill_redis,
            self.stop_redis,
            self.close_connections,
            self.reset_a_link,
            self.hold_a_link,
            self.slow_a_link_down,
            self.reload_a_replica,
            self.replace_a_replica,
        )

    async def kill_redis(self) -> None:
        self._server.kill()
        await asyncio.sleep(self.dice.uniform(0, 2))
        await asyncio.to_thread(self._server.start)

    async def stop_redis(self) -> None:
        self._server.stop()
        await asyncio.sleep(self.dice.uniform(0.1, 3))
        self._server.resume()

    async def close_connections(self) -> None:
        note_fault("redis closes connections")
        await asyncio.to_thread(self._server.command, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    async def reset_a_link(self) -> None:
        self.dice.choice(self._links).reset()

    async def hold_a_link(self) -> None:
        link = self.dice.choice(self._links)
        link.hold()
        await asyncio.sleep(self.dice.uniform(0.1, 2))
        link.release()

    async def slow_a_link_down(self) -> None:
        note_fault("link slow")
        link = self.dice.choice(self._links)
        link.reply_delay = self.dice.uniform(0.01, 0.4)
        await asyncio.sleep(2)
        link.reply_delay = 0.0

    async def reload_a_replica(self) -> None:
        self.dice.choice(self._fleet.processes).signal(signal.SIGHUP)

    async def replace_a_replica(self) -> None:
        """Without a drain: its clients see their connections end."""
        number = self.dice.randrange(2)
        self._fleet.kill(number)
        await self._fleet.replace(number)


@pytest.mark.parametrize(
    ("seconds", "every_seconds"),
    [
        pytest.param(4, 0.5, id="a few seconds"),
        pytest.param(300, 10.0, id="5 minutes", marks=pytest.mark.heavy),
    ],
)
async def test_two_replicas_while_things_break(tmp_path, seconds, every_seconds):
    async with AsyncExitStack() as opened:
        server = opened.enter_context(RedisServer(appendonly="yes", appendfsync="always"))
        links = [await opened.enter_async_context(Link(server.port)) for _ in range(2)]
        stores = [{"kind": "redis", "url": f"redis://127.0.0.1:{link.port}/0"} for link in links]
        fleet = await opened.enter_async_context(Fleet(tmp_path, [{"store": store} for store in stores]))
        soak = Soak(server, links, fleet)
        async with Load(fleet.gateways, per_second=PER_SECOND) as load:
            await asyncio.sleep(1.2)
            levels = _levels(fleet)
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                await soak.dice.choice(soak.faults)()
                await asyncio.sleep(every_seconds)
                levels = _levels(fleet) | levels  # a replica that is new has one from now on
            await until_served(load)
        await check_all(load)
        assert_right_and_in_time(load)
        assert sum(answer.status == 200 for answer in load.answers) > 0.5 * len(load.answers)
        for process in fleet.processes:
            memory, files = levels[process]
            assert memory_of(process) - memory < 20 * MEGABYTE
            assert files_of(process) < files + 20


def _levels(fleet: Fleet) -> dict:
    return {process: (memory_of(process), files_of(process)) for process in fleet.processes}
