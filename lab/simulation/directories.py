"""The simulated region of managed apps: operators, callers and disasters around one directory."""

import asyncio
import random
from collections import Counter

from gateway.domain.model import Environment
from lab.simulation.callers import GET, Caller
from lab.simulation.corruption import Corruption
from lab.simulation.disasters import Disasters
from lab.simulation.fleet import Fleet
from lab.simulation.judges import (
    Answered,
    judge_change,
    judge_changes,
    judge_list,
    judge_token,
    judge_value,
)
from lab.simulation.ledger import Ledger
from lab.simulation.numbered import FeedItems
from lab.simulation.old_masters import OldMasters
from lab.simulation.operators import DONE, UNKNOWN, Operator, RequestedChange
from lab.simulation.replica import SimulatedReplica
from lab.simulation.requests import STARTED_AT_MS
from lab.simulation.store import SimulatedClock, Store
from lab.simulation.tenants import (
    LAST_PURGE_SECONDS,
    Issued,
    app,
    declared_token,
    preloaded,
    preloaded_token,
)
from tests.support.wire import WireReply

CALLING_SECONDS = 50.0
ROUNDS_SECONDS = 3 * 60.0 + 3 * 15.0
"""Time for a crashed holder of the lease, the pauses, and the rounds (D161)."""

SETTLING_SECONDS = 5.0
"""Time until abandoned writes have arrived at the store and replicas know them."""

CALLED_APPS = 4
OPERATORS = 2
CALLERS = 2


class Directories:
    """One simulation. `faults` lists the violations found, `happened` counts the disasters."""

    def __init__(self, seed: int, size: int) -> None:
        self.dice = random.Random(seed)
        self._loop = asyncio.get_running_loop()
        self.store = Store(SimulatedClock(self._loop, STARTED_AT_MS))
        self.store.records.preload(preloaded(size))
        self.items = FeedItems(self.store.records, random.Random(seed)) if seed % 2 else None
        """The feed of every second seed."""
        self.old_masters = OldMasters()
        self.fleet = Fleet(self.store, self.items, random.Random(self.dice.random()))
        self.ledger = Ledger(self.store.records)
        self.corruption = Corruption(self.store.records)
        numbers = [*self.dice.sample(range(size), CALLED_APPS - 1), size]
        self.apps = [app(number) for number in numbers]
        self.issued = [declared_token(each) for each in self.apps]
        self.issued += [Issued(app(number), preloaded_token(number)) for number in numbers if number < size]
        self.crash_after: float | None = None
        self.faults: list[str] = []
        self.happened: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unanswered = 0
        self.trace: list[tuple[float, str]] = []
        self._changes: list[RequestedChange] = []
        self._changed: dict[tuple[SimulatedReplica, Environment], float] = {}
        self._crashing: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        for _ in range(self.dice.choice((2, 2, 3))):
            await self.fleet.start()
        operators = [Operator(self, random.Random(self.dice.random())) for _ in range(OPERATORS)]
        callers = [Caller(self, random.Random(self.dice.random())) for _ in range(CALLERS)]
        disasters = Disasters(self, random.Random(self.dice.random()))
        making = asyncio.ensure_future(disasters.run(until=CALLING_SECONDS - 5))
        await asyncio.gather(*(each.run(until=CALLING_SECONDS) for each in (*operators, *callers)))
        await making
        await asyncio.gather(*self._crashing)
        await self._remove_corrupt_apps(operators[0])
        await self._call_everywhere(callers[0])
        await asyncio.sleep(LAST_PURGE_SECONDS + ROUNDS_SECONDS)
        await self.fleet.end()
        self._judge_the_end()

    def wrong(self, fault: str | None) -> None:
        if fault is not None:
            self.faults.append(f"at {self._loop.time():.3f} s: {fault}")

    def own_change(self, replica: SimulatedReplica, token: Issued) -> float:
        """Returns the time of the last change of the app through this replica."""
        return self._changed.get((replica, token.environment), float("-inf"))

    def will_change(self, replica: SimulatedReplica) -> None:
        """Notes the begin of a change, during which the replica may crash."""
        after, self.crash_after = self.crash_after, None
        if after is not None:
            self._crashing.add(asyncio.ensure_future(self._crash(replica, after)))

    def was_changed(
        self, change: RequestedChange, replica: SimulatedReplica, reply: WireReply | None
    ) -> None:
        self._changes.append(change)
        self._note(f"{change.action} is {change.outcome}", reply)
        if self.old_masters.has_lost(change):
            change.outcome = UNKNOWN
        self.wrong(judge_change(self.ledger, change))
        if change.token is not None:
            self.issued.append(change.token)
        if change.outcome == DONE:
            applied = (swap.at for swap in reversed(self.store.records.swaps) if swap.cause is change)
            self._changed[replica, change.environment] = next(applied, change.sent)

    def was_listed(self, replica: SimulatedReplica, reply: WireReply, sent: float) -> None:
        self._note("list", reply)
        if not self.old_masters.have_served(replica.network, sent, self._loop.time()):
            has_failed = replica.network.contact.has_failed_since(sent, "page")
            self.wrong(judge_list(self.ledger, self.apps, reply, sent, has_failed=has_failed))

    def was_answered(self, replica: SimulatedReplica, call: Answered) -> None:
        token, reply = call.token, call.reply
        self._note(token.environment.app, reply)
        declared = self.fleet.declares(replica, token.environment, call.sent, call.answered)
        from_old_masters = self.old_masters.statuses(replica.network, call)
        self.wrong(judge_token(self.ledger, call, declared, from_old_masters))
        if reply.status == 200 and reply.json.get("found"):
            owner = self.issued[reply.json["value"]]
            self.wrong(judge_value(call, owner, [self._table_of(each) for each in (owner, token)]))

    def _table_of(self, token: Issued) -> str | None:
        if token.is_declared:
            return token.sha256
        return self.ledger.table_of(token) or self.old_masters.table_of(token)

    def was_unanswered(self) -> None:
        self.unanswered += 1

    async def _crash(self, replica: SimulatedReplica, after: float) -> None:
        await asyncio.sleep(after)
        await self.fleet.crash(replica)

    async def _remove_corrupt_apps(self, operator: Operator) -> None:
        """Removes all corrupt apps."""
        await asyncio.sleep(SETTLING_SECONDS)
        for environment in sorted(self.corruption.apps):
            if not self.ledger.versions(environment)[-1].is_readable:
                change = await operator.change("remove", environment)
                if change is None or change.outcome != DONE:
                    self.wrong(f"the corrupt app {environment} cannot be removed")
        await asyncio.sleep(SETTLING_SECONDS)

    async def _call_everywhere(self, caller: Caller) -> None:
        """Calls every replica with every token, after all faults are over."""
        for replica in self.fleet.replicas:
            for token in self.issued:
                await caller.call(replica, token, GET)
        caller.hang_up()

    def _judge_the_end(self) -> None:
        for fault in judge_changes(self.store.records, self._changes):
            self.wrong(fault)
        kept = {*self.ledger.living_tables(), *self.corruption.lost_tables}
        kept.update(self.old_masters.tables(self.apps))
        left = {each for each in self.store.inner.tables._held.tables if each.startswith("t2_")} - kept
        if left:
            self.wrong(f"{len(left)} deleted tables were not given back")

    def _note(self, what: str, reply: WireReply | None) -> None:
        if reply is None:
            self.unanswered += 1
        else:
            self.statuses[reply.status] += 1
            if reply.status == 500:
                self.wrong(f"{what}: 500")
        self.trace.append((self._loop.time(), what))
