"""The replicas of a simulated directory: started, declared to, drained and crashed."""

import asyncio
import random
from collections import defaultdict

from gateway.domain.model import Environment
from lab.simulation.network import Network
from lab.simulation.numbered import FeedItems, NumberedBackend
from lab.simulation.replica import SimulatedReplica
from lab.simulation.requests import STARTED_AT_MS
from lab.simulation.store import SimulatedClock, Store
from lab.simulation.tenants import STALE_SECONDS, settings


class Fleet:
    """The replicas. `declared` is the content of the configuration file; a replica reads it at a reload."""

    def __init__(self, store: Store, items: FeedItems | None, dice: random.Random) -> None:
        self._store, self._items, self._dice = store, items, dice
        self._loop = asyncio.get_running_loop()
        self._stale_seconds: dict[SimulatedReplica, float] = {}
        self._read: dict[SimulatedReplica, list[tuple[float, frozenset[Environment]]]] = defaultdict(list)
        self.replicas: list[SimulatedReplica] = []
        self.declared: frozenset[Environment] = frozenset()

    def draw(self, dice: random.Random) -> SimulatedReplica | None:
        """Returns a replica that clients can reach, if any."""
        open_ones = [replica for replica in self.replicas if replica.takes_connections]
        return dice.choice(open_ones) if open_ones else None

    async def start(self) -> None:
        """Starts another replica."""
        clock = SimulatedClock(self._loop, STARTED_AT_MS, self._dice.randint(-20_000, 20_000))
        network = Network(self._store, random.Random(self._dice.random()))
        if not self._store.is_up:
            network.contact.lose()
            self._store.when_up.append(network.contact.regain)
        stale_seconds = self._dice.choice(STALE_SECONDS)
        backend = None if self._items is None else NumberedBackend(network, self._items, clock)
        declared = settings(self.declared, stale_seconds)
        replica = await SimulatedReplica.start(declared, clock, network, backend)
        self._stale_seconds[replica] = stale_seconds
        self._read[replica].append((self._loop.time(), self.declared))
        self.replicas.append(replica)

    async def retire(self, replica: SimulatedReplica) -> None:
        """Drains a replica after another one has replaced it."""
        if not replica.is_draining:
            replica.is_draining = True
            await self.start()
            await replica.drain()
            if replica in self.replicas:
                self.replicas.remove(replica)

    async def crash(self, replica: SimulatedReplica) -> None:
        """Crashes a replica and starts another one."""
        if replica in self.replicas and not replica.is_draining:
            self.replicas.remove(replica)
            await replica.crash()
            await asyncio.sleep(self._dice.uniform(0, 3))
            await self.start()

    async def end(self) -> None:
        """Ends all replicas."""
        for replica in list(self.replicas):
            await replica.crash()

    def reload(self, replica: SimulatedReplica) -> None:
        """Reloads a replica."""
        if not replica.has_crashed:
            replica.reload(settings(self.declared, self._stale_seconds[replica]))
            self._read[replica].append((self._loop.time(), self.declared))

    def declares(
        self, replica: SimulatedReplica, environment: Environment, since: float, until: float
    ) -> set[bool]:
        """Returns whether the app was declared on it in that time: True, False or both."""
        read = self._read[replica]
        ends = [*(at for at, _ in read[1:]), float("inf")]
        return {
            environment in declared
            for (at, declared), end in zip(read, ends, strict=True)
            if at <= until and end >= since
        }
