"""One replica that follows the feed of changes, in no time: announcements and connections are lost.

The follower, the cached bindings and both feeds are the gateway's own. An operator at another replica revokes
tokens; callers use every token. First the connections of the replica are cut five times within two seconds.
Later the replica is cut off for good, in most seeds soon after announcements were removed from the feed.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from backends.background import Background, jittered
from backends.errors import BackendUnavailable
from backends.redis.topology.server import FIRST_PAUSE_SECONDS
from gateway.directory.declared import DeclaredApps
from gateway.directory.parts import Defaults, DirectoryParts, directory_parts
from gateway.directory.records import AppRecord
from gateway.domain.errors import AuthUnavailable
from gateway.domain.model import Environment
from lab.simulation.network import Network
from lab.simulation.numbered import FeedItems, NumberedBackend
from lab.simulation.remote import RemoteBackend
from lab.simulation.requests import STARTED_AT_MS
from lab.simulation.store import SimulatedClock, Store

CACHE_SECONDS, STALE_SECONDS = 6.0, 20.0
IN_FORCE_SECONDS = 2.0
CUTS, CUTS_SECONDS = 5, 2.0
APPS = 6
NEVER = float("inf")


class CutNetwork(Network):
    """A network whose connections can be cut: calls in flight fail, and for a moment all calls."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        super().__init__(store, dice)
        self._in_flight: set[asyncio.Task[Any]] = set()
        self.is_down = False

    async def call(self, work: Callable[[], Awaitable[Any]], **options: Any) -> Any:
        if self.is_down:
            raise BackendUnavailable("the connection was lost")
        calling = asyncio.ensure_future(super().call(work, **options))
        self._in_flight.add(calling)
        calling.add_done_callback(self._in_flight.discard)
        try:
            return await calling
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is not None and this.cancelling():  # the caller ends, not the connection
                raise
            raise BackendUnavailable("the connection was lost") from None

    async def cut(self) -> None:
        """Cuts the connection, which is made again after the pause of a `Server`."""
        for calling in self._in_flight:
            calling.cancel()
        self.is_down = True
        await asyncio.sleep(jittered(FIRST_PAUSE_SECONDS))
        self.is_down = False


class Feeds:
    """One simulation. `faults` lists the violations found."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._loop = asyncio.get_running_loop()
        self._clock = SimulatedClock(self._loop, STARTED_AT_MS)
        self._store = Store(self._clock)
        self._items = FeedItems(self._store.records, random.Random(seed)) if seed % 2 else None
        self._network = CutNetwork(self._store, random.Random(seed))
        self._operator = self._parts(Network(self._store, random.Random(seed)))
        self._replica = self._parts(self._network)
        self._tokens: list[tuple[Environment, bytes]] = []
        self._revoked: dict[bytes, float] = {}
        self._lost_feed_at = self._away_at = NEVER
        self._polls_to_cut = 0
        self._cutting: set[asyncio.Task[None]] = set()
        self.faults: list[str] = []
        self.happened: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unanswered = 0

    async def run(self) -> None:
        for number in range(APPS):
            environment = Environment("acme", f"app-{number}", "production")
            await self._operator.directory.register(AppRecord(environment, "api", active=False))
            _, token = await self._operator.directory.create_table(environment, "t", None)
            self._tokens.append((environment, token.encode()))
        feed = self._replica.feed
        following = Background(self._poll, lambda: feed.pause_seconds, _raise)
        calling = asyncio.ensure_future(self._call())
        await asyncio.sleep(self._dice.uniform(3, 9))
        await asyncio.gather(self._cut_connections(), self._revoke_within(CUTS_SECONDS))
        await asyncio.sleep(self._dice.uniform(5, 9))
        await self._lose_the_store()
        await asyncio.sleep(CACHE_SECONDS + STALE_SECONDS + 3)
        calling.cancel()
        await following.close()

    def _parts(self, network: Network) -> DirectoryParts:
        numbered = None if self._items is None else NumberedBackend(network, self._items, self._clock)
        backend = numbered or RemoteBackend(network)
        return directory_parts(
            DeclaredApps([], 600),
            backend.records,
            backend.tables,  # type: ignore[arg-type] - the part that is used
            self._clock,
            defaults=Defaults(requests_per_minute=600, max_tables=3),
            fresh_ms=int(CACHE_SECONDS * 1000),
            stale_ms=int(STALE_SECONDS * 1000),
        )

    async def _poll(self) -> None:
        if self._polls_to_cut and not self._network.is_down:
            self._polls_to_cut -= 1
            cutting = asyncio.ensure_future(self._network.cut())
            self._cutting.add(cutting)
            cutting.add_done_callback(self._cutting.discard)
        await self._replica.feed.follow()

    async def _cut_connections(self) -> None:
        """Cuts them at random moments, or each in the midst of a poll."""
        began = self._loop.time()
        if self._dice.random() < 0.5:
            self._polls_to_cut = CUTS
            self.happened["cut the connections"] += CUTS
            return
        for after in sorted(self._dice.uniform(0, CUTS_SECONDS) for _ in range(CUTS)):
            await asyncio.sleep(max(began + after - self._loop.time(), 0))
            self.happened["cut the connections"] += 1
            await self._network.cut()

    async def _lose_the_store(self) -> None:
        """Cuts the replica off for good; before that, mostly, removes the announcement of a revocation."""
        if self._dice.random() < 0.8:
            await self._revoke_within(1.0)
            if self._items is None:
                self._store.records.cut_feed(0)
            else:
                self._items.remove_all_but(0)
            self._lost_feed_at = self._loop.time()
            self.happened["cut the feed short"] += 1
            await asyncio.sleep(self._dice.uniform(0, 4))
        self._away_at = self._loop.time()
        self._network.is_cut = True
        self.happened["cut the replica off"] += 1

    async def _revoke_within(self, seconds: float) -> None:
        await asyncio.sleep(self._dice.uniform(0, seconds))
        environment, token = self._tokens[len(self._revoked)]
        await self._operator.directory.rotate_table(environment, "t", 0)
        self._revoked[token] = self._loop.time()

    async def _call(self) -> None:
        """Uses all tokens, some of them rarely: their bindings are not looked up after each trouble."""
        pauses = [self._dice.choice((0.1, 0.4, 3.0)) for _ in self._tokens]
        await asyncio.gather(
            *(self._use(token, pause) for (_, token), pause in zip(self._tokens, pauses, strict=True))
        )

    async def _use(self, token: bytes, pause: float) -> None:
        while True:
            sent = self._loop.time()
            try:
                is_granted = await self._replica.bindings.resolve(token) is not None
            except AuthUnavailable:
                self.statuses[503] += 1
                self._judge_unavailable(token, sent)
            else:
                self.statuses[200 if is_granted else 401] += 1
                self._judge(token, sent, is_granted=is_granted)
            await asyncio.sleep(self._dice.expovariate(1 / pause))

    def _judge(self, token: bytes, sent: float, *, is_granted: bool) -> None:
        """A revoked token ends in time; of an announcement that was lost, after the cache time."""
        revoked = self._revoked.get(token, NEVER)
        if not is_granted:
            self._wrong(sent, "a valid token is unknown" if sent < revoked == NEVER else None)
            return
        ends = revoked + IN_FORCE_SECONDS
        if 0 <= self._lost_feed_at - revoked < IN_FORCE_SECONDS:
            ends = revoked + CACHE_SECONDS
        if 0 <= self._away_at - revoked < IN_FORCE_SECONDS:
            ends = NEVER
        self._wrong(sent, f"a token that was revoked at {revoked:.3f} s is used" if sent > ends else None)

    def _judge_unavailable(self, token: bytes, sent: float) -> None:
        """A valid token outlives an outage for its time, if the feed had lost nothing."""
        bridged = self._away_at - IN_FORCE_SECONDS + CACHE_SECONDS + STALE_SECONDS
        is_due = self._lost_feed_at == NEVER and token not in self._revoked and sent < bridged
        self._wrong(sent, "a valid token does not outlive an outage" if is_due else None)

    def _wrong(self, sent: float, fault: str | None) -> None:
        if fault is not None:
            self.faults.append(f"at {sent:.3f} s: {fault}, the store is away from {self._away_at:.3f} s")


def _raise(error: Exception) -> None:
    raise error
