"""Faults in a simulated region, one after the other, sometimes several at a time."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from lab.simulation.network import USUAL_LAG_SECONDS

if TYPE_CHECKING:
    from lab.simulation.region import Region


class Mischief:
    """Draws faults from `dice`; all are over when `run` returns."""

    def __init__(self, region: "Region", dice: random.Random) -> None:
        self._region, self._dice = region, dice
        self._kinds: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = (
            self._crash_a_replica,
            self._replace_a_replica,
            self._take_the_store_away,
            self._lose_calls,
            self._slow_calls_down,
            self._step_a_wall_clock,
            self._reload,
        )

    async def run(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        happening: set[asyncio.Task[None]] = set()
        while True:
            await asyncio.sleep(self._dice.expovariate(1 / 9))
            if loop.time() > until:
                break
            kind = self._dice.choice(self._kinds)
            self._region.happened[kind.__name__.strip("_").replace("_", " ")] += 1
            happening.add(asyncio.ensure_future(kind()))
        await asyncio.gather(*happening)

    async def _crash_a_replica(self) -> None:
        replicas = [each for each in self._region.replicas if not each.is_draining]
        if len(replicas) > 1:
            replica = self._dice.choice(replicas)
            self._region.replicas.remove(replica)
            await replica.crash()
            await asyncio.sleep(self._dice.uniform(0, 3))
            await self._region.start_replica()

    async def _replace_a_replica(self) -> None:
        replicas = [each for each in self._region.replicas if not each.is_draining]
        if replicas:
            replica = self._dice.choice(replicas)
            replica.is_draining = True
            replica.network.lag = self._dice.choice((USUAL_LAG_SECONDS, 0.05, 0.1))  # calls are under way
            await self._region.start_replica()
            await self._region.retire(replica)

    async def _take_the_store_away(self) -> None:
        self._region.store.is_up = False
        await asyncio.sleep(self._dice.uniform(0.1, 4))
        self._region.store.is_up = True

    async def _lose_calls(self) -> None:
        network = self._dice.choice(self._region.replicas).network
        network.losses = self._dice.uniform(0.05, 0.4)
        await asyncio.sleep(self._dice.uniform(1, 15))
        network.losses = 0.0

    async def _slow_calls_down(self) -> None:
        network = self._dice.choice(self._region.replicas).network
        network.lag = self._dice.choice((0.02, 0.1, 0.3))
        await asyncio.sleep(self._dice.uniform(1, 10))
        network.lag = USUAL_LAG_SECONDS

    async def _step_a_wall_clock(self) -> None:
        """Jumps a wall clock by less than the validity of the signatures."""
        clock = self._dice.choice(self._region.replicas).clock
        clock.wrong_by_ms = self._dice.randint(-90_000, 90_000)

    async def _reload(self) -> None:
        self._dice.choice(self._region.replicas).reload()
