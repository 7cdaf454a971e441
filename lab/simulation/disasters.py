"""Faults of a simulated directory, one after the other, sometimes several at a time."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from lab.simulation.network import USUAL_LAG_SECONDS
from lab.simulation.old_masters import OldMaster
from lab.simulation.replica import SimulatedReplica
from lab.simulation.tenants import CACHE_SECONDS, STALE_SECONDS

if TYPE_CHECKING:
    from lab.simulation.directories import Directories

DOUBT_SECONDS = 5.0
"""Time until lost announcements are missed and doubted: three seconds and two polls."""

LONGEST_WITH_AN_OLD_MASTER_SECONDS = 2.0
LONGEST_PARTITION_SECONDS = 1.6 * (CACHE_SECONDS + max(STALE_SECONDS))


class Disasters:
    """Draws faults from `dice`; all except corrupt records are over when `run` returns."""

    def __init__(self, region: "Directories", dice: random.Random) -> None:
        self._region, self._fleet, self._dice = region, region.fleet, dice
        self._kinds: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = (
            self._cut_a_replica_off,
            self._take_the_store_away,
            self._lose_calls,
            self._lose_replies,
            self._slow_calls_down,
            self._crash_during_a_change,
            self._crash_a_replica,
            self._replace_a_replica,
            self._declare_an_app,
            self._corrupt_a_record,
            self._cut_the_feed_short,
            self._replace_the_master if region.items is None else self._announce_late,
        )

    async def run(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        happening: set[asyncio.Task[None]] = set()
        while True:
            await asyncio.sleep(self._dice.expovariate(1 / 5))
            if loop.time() > until:
                break
            if not self._fleet.replicas:
                continue
            kind = self._dice.choice(self._kinds)
            self._region.happened[kind.__name__.strip("_").replace("_", " ")] += 1
            happening.add(asyncio.ensure_future(kind()))
        await asyncio.gather(*happening)

    async def _cut_a_replica_off(self) -> None:
        network = self._draw().network
        with network.trouble():
            network.losses += 1.0
            await asyncio.sleep(self._dice.uniform(0.5, self._dice.choice((5, LONGEST_PARTITION_SECONDS))))
            network.losses -= 1.0

    async def _take_the_store_away(self) -> None:
        store = self._region.store
        if store.is_up:
            with ExitStack() as troubles:
                for replica in self._fleet.replicas:
                    troubles.enter_context(replica.network.trouble())
                store.is_up = False
                await asyncio.sleep(self._dice.uniform(0.1, 3))
                store.is_up = True
                store.note_up()

    async def _lose_calls(self) -> None:
        network, losses = self._draw().network, self._dice.uniform(0.05, 0.4)
        with network.trouble():
            network.losses += losses
            await asyncio.sleep(self._dice.uniform(1, 15))
            network.losses -= losses

    async def _lose_replies(self) -> None:
        network = self._draw().network
        with network.trouble():
            network.reply_losses = self._dice.uniform(0.2, 1.0)
            await asyncio.sleep(self._dice.uniform(1, 12))
            network.reply_losses = 0.0

    async def _slow_calls_down(self) -> None:
        network = self._draw().network
        with network.trouble():
            network.lag = self._dice.choice((0.02, 0.06, 0.15))
            await asyncio.sleep(self._dice.uniform(1, 15))
            network.lag = USUAL_LAG_SECONDS

    async def _crash_during_a_change(self) -> None:
        """Crashes a replica in a change, which takes about twenty steps of a millisecond."""
        self._region.crash_after = self._dice.uniform(0, 0.03)

    async def _crash_a_replica(self) -> None:
        await self._fleet.crash(self._draw())

    async def _replace_a_replica(self) -> None:
        await self._fleet.retire(self._draw())

    async def _declare_an_app(self) -> None:
        """Declares an app and later removes it; the replicas reload one after the other."""
        environment = self._dice.choice(self._region.apps)
        if environment not in self._fleet.declared:
            self._fleet.declared |= {environment}
            await self._reload_all()
            await asyncio.sleep(self._dice.uniform(0, 15))
            self._fleet.declared -= {environment}
            await self._reload_all()

    async def _reload_all(self) -> None:
        for replica in list(self._fleet.replicas):
            self._fleet.reload(replica)
            await asyncio.sleep(self._dice.uniform(0, 2))

    async def _corrupt_a_record(self) -> None:
        await self._region.corruption.corrupt(self._dice)

    async def _cut_the_feed_short(self) -> None:
        kept, items = self._dice.choice((0, 0, 1, 3)), self._region.items
        if items is None:
            self._region.store.records.cut_feed(kept)
            self._miss()
        else:
            items.remove_all_but(kept)
            await self._trouble_all(DOUBT_SECONDS)
            self._miss()

    async def _announce_late(self) -> None:
        """Delays announcements, for less or more time than until a lost one is doubted."""
        items = self._region.items
        late_seconds = self._dice.choice((1.0, 3.0, 20.0))
        if items is not None and not items.late_seconds:
            items.late_seconds = late_seconds
            await self._trouble_all(self._dice.uniform(1, 8))
            items.late_seconds = 0.0
            await self._trouble_all(late_seconds)

    async def _replace_the_master(self) -> None:
        """Replaces the master; some replicas learn of it later."""
        loop, networks = asyncio.get_running_loop(), [each.network for each in self._fleet.replicas]
        store = self._region.store
        if all(network.records is store.records for network in networks):
            askers = [network for network in networks if self._dice.random() < 0.6]
            old = OldMaster(store.records.fail_over(), askers, loop.time())
            self._region.old_masters.append(old)
            self._miss()
            with ExitStack() as troubles:
                for network in askers:
                    troubles.enter_context(network.trouble())
                await asyncio.sleep(self._dice.uniform(0.1, LONGEST_WITH_AN_OLD_MASTER_SECONDS))
                old.leave(loop.time())

    async def _trouble_all(self, seconds: float) -> None:
        with ExitStack() as troubles:
            for replica in self._fleet.replicas:
                troubles.enter_context(replica.network.trouble())
            await asyncio.sleep(seconds)

    def _miss(self) -> None:
        for replica in self._fleet.replicas:
            replica.network.contact.miss()

    def _draw(self) -> SimulatedReplica:
        return self._dice.choice(self._fleet.replicas)
