"""Replaced masters, sentinels that learn of it in turn, replicas cut off from some of them (D111).

Who decides is the gateway's own (`MasterBySentinels`, `Sentinels`), over servers and links in memory.
"""

import asyncio
import random
from collections import Counter

from backends.errors import BackendError, BackendUnavailable
from backends.redis.topology.one_master import MasterBySentinels
from backends.redis.topology.sentinels import Sentinels
from backends.redis.wire.resp import Reply
from backends.redis.wire.url import Address
from lab.simulation.contact import Contact

FIRST_PORT = 6379
RUNNING_SECONDS = 40.0
ANSWER_SECONDS = 0.25


class SentinelOf:
    """A sentinel as one replica reaches it."""

    def __init__(self, region: "Masters", number: int, dice: random.Random) -> None:
        self._region, self._number, self._dice = region, number, dice
        self.is_reachable = True

    async def call(self, _command: bytes) -> Reply:
        await asyncio.sleep(self._dice.expovariate(1 / 0.005) if self.is_reachable else ANSWER_SECONDS)
        if not self.is_reachable:
            raise BackendUnavailable("no answer in time")
        return [b"10.0.0.1", b"%d" % self._region.views[self._number]]

    async def close(self) -> None:
        """Does nothing."""


class ServerOf:
    """The master as one replica is connected to it. A connection to an old one lives until it is left."""

    name = "simulated"

    def __init__(self, sentinels: Sentinels) -> None:
        self._sentinels = sentinels
        self.connected_to: Address | None = None

    async def call(self, _command: bytes) -> Reply:
        if self.connected_to is None:
            self.connected_to = await self._sentinels.find_master()
        return self.connected_to

    def leave(self, _fault: str) -> None:
        self.connected_to = None

    async def close(self) -> None:
        """Does nothing."""


class Replica:
    """A replica that calls its master repeatedly."""

    def __init__(self, region: "Masters", dice: random.Random) -> None:
        self._region, self._dice = region, dice
        self.links = [SentinelOf(region, number, dice) for number in range(len(region.views))]
        self.contact = Contact(asyncio.get_running_loop().time)
        sentinels = Sentinels("kvs", self.links)
        self.server = ServerOf(sentinels)
        self.master = MasterBySentinels(self.server, sentinels)
        self._hears = True

    async def run(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < until:
            await asyncio.sleep(self._dice.expovariate(1 / 0.2))
            try:
                address = await self.master.call(b"", b"")
            except BackendError:
                self._region.statuses[503] += 1
            else:
                self._region.was_called(self, address)
            if self._dice.random() < 0.05:
                self.server.leave("the connection was lost")
        await self.master.close()

    async def lose_sentinels(self) -> None:
        """Cuts it off from some of the sentinels for a while."""
        lost = [link for link in self.links if self._dice.random() < self._dice.choice((0.3, 0.8))]
        lost = [link for link in lost if link.is_reachable]
        for link in lost:
            link.is_reachable = False
        self.listen()
        await asyncio.sleep(self._dice.uniform(0.2, 8))
        for link in lost:
            link.is_reachable = True
        self.listen()

    def listen(self) -> None:
        """Counts as a trouble unless a majority of all sentinels is reachable and names the master."""
        master, views = self._region.master, self._region.views
        heard = sum(
            link.is_reachable and view == master for link, view in zip(self.links, views, strict=True)
        )
        hears = 2 * heard > len(views)
        if self._hears and not hears:
            self.contact.lose()
        elif hears and not self._hears:
            self.contact.regain()
        self._hears = hears


class Masters:
    """Everything of one simulation."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._loop = asyncio.get_running_loop()
        self.views = [FIRST_PORT] * self._dice.choice((3, 3, 5))
        """The port of the master that each sentinel names; later masters have higher ones."""
        self._named_by_most = [(float("-inf"), FIRST_PORT)]
        self._electing = asyncio.Lock()
        self.faults: list[str] = []
        self.happened: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unanswered = 0

    @property
    def master(self) -> int:
        """The master that most sentinels name, or named last."""
        return self._named_by_most[-1][1]

    async def run(self) -> None:
        self._replicas = [Replica(self, random.Random(self._dice.random())) for _ in range(2)]
        calling = [asyncio.ensure_future(each.run(RUNNING_SECONDS)) for each in self._replicas]
        happening = []
        for port in range(FIRST_PORT + 1, FIRST_PORT + 8):
            await asyncio.sleep(self._dice.expovariate(1 / 3))
            happening.append(asyncio.ensure_future(self._replace_the_master(port)))
            happening.append(asyncio.ensure_future(self._dice.choice(self._replicas).lose_sentinels()))
            self.happened.update(("replace the master", "lose sentinels"))
        await asyncio.gather(*happening, *calling)

    def was_called(self, replica: Replica, address: Address) -> None:
        """Judges a call: its master is or was named by most sentinels, within two seconds and the trouble."""
        self.statuses[200] += 1
        named = self._named_by_most
        since = replica.contact.known_until
        ends = [*(at for at, _ in named[1:]), float("inf")]
        possible = {each for (_, each), end in zip(named, ends, strict=True) if end >= since}
        if address.port not in possible:
            self.faults.append(
                f"at {self._loop.time():.3f} s: {address} was called, and is no master any more"
            )

    def wrong(self, fault: str) -> None:
        self.faults.append(f"at {self._loop.time():.3f} s: {fault}")

    async def _replace_the_master(self, port: int) -> None:
        """Replaces the master; the sentinels learn it in turn. The next election waits for most of them."""
        numbers = self._dice.sample(range(len(self.views)), len(self.views))
        most = len(numbers) // 2 + 1
        async with self._electing:
            await self._tell(numbers[:most], port)
            self._named_by_most.append((self._loop.time(), port))
            self._listen()
        await self._tell(numbers[most:], port)

    async def _tell(self, numbers: list[int], port: int) -> None:
        for number in numbers:
            await asyncio.sleep(self._dice.choice((0.01, 0.1, 1.5)))
            self.views[number] = max(self.views[number], port)
            self._listen()

    def _listen(self) -> None:
        for replica in self._replicas:
            replica.listen()
