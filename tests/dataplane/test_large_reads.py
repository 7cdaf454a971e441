"""Lists and large batches take turns: no tenant's burst of them holds the store or the event loop."""

import asyncio
from collections import Counter

import pytest

from backends.interface import Charge, Keyspace
from backends.tables import Budget, Charges, Done, ListEntries, NoEntry, Page, Table
from gateway.dataplane.large_reads import AT_ONCE, LONGEST_WAIT_SECONDS, MOST_WAITING, LargeReads
from gateway.dataplane.metering import MeteredCall
from gateway.dataplane.policies.rate_limit import RateLimitPolicy
from gateway.dataplane.steps import Steps
from gateway.domain.call import Call, Headers
from gateway.domain.errors import Overloaded
from gateway.domain.model import Batch, Delete, Get, Grant, List, Operation, ResponseNotes, TenantLabels
from gateway.observability.usage import Usage
from tests.support.virtual_time import VirtualTimeLoop

LARGE = [List("", "", 1000, has_values=True), Batch(tuple(Get(f"k{number}") for number in range(25)))]
SMALL = [
    Get("k"),
    Batch(tuple(Get(f"k{number}") for number in range(4))),
    Batch(tuple(Delete(f"k{number}") for number in range(25))),
]


class HeldStore:
    """Answers a step once the test lets go of it."""

    def __init__(self) -> None:
        self.held = self.most_held = 0
        self.let_go = asyncio.Event()

    async def step(self, charges, table, operations, now_ms, *, may_begin):
        self.held += 1
        self.most_held = max(self.most_held, self.held)
        await self.let_go.wait()
        self.held -= 1
        results = [Page((), None) if isinstance(each, ListEntries) else NoEntry() for each in operations]
        return Done((Charge(admitted=True, closes_in_ms=1, remaining=1),), tuple(results))


class Caller:
    """Executes operations of one app environment after the other stages."""

    def __init__(self, clock) -> None:
        self.store = HeldStore()
        self._clock = clock
        self._steps = Steps(self.store, RateLimitPolicy(clock.monotonic_ms), clock, lambda _: None)
        self._usage = Usage(
            max_series=100, idle_ms=1, first_sample_ms=0, now_ms=clock.monotonic_ms, is_draining=lambda: False
        )

    async def call(self, operation):
        charges = Charges((Budget("o/a/e", 1000),), 60_000)
        grant = Grant(Table("o/a/e", Keyspace("t")), charges, TenantLabels("o", "a", "e", "t"))
        call = Call(Operation.GET, b"/", Headers([]), b"", "")
        return await self._steps.execute(MeteredCall(self._usage, grant, call), operation, ResponseNotes())


@pytest.fixture
def caller(clock):
    return Caller(clock)


async def settled() -> None:
    """Lets all tasks run until they wait."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("large", LARGE, ids=["list", "batch"])
async def test_a_burst_of_large_reads_reaches_the_store_a_few_at_a_time(caller, large):
    calls = [asyncio.ensure_future(caller.call(large)) for _ in range(50)]
    await settled()
    assert caller.store.held == AT_ONCE
    caller.store.let_go.set()
    await asyncio.gather(*calls)
    assert caller.store.most_held == AT_ONCE


@pytest.mark.parametrize("small", SMALL, ids=["get", "small batch", "batch of deletes"])
async def test_small_calls_wait_for_no_large_read(caller, small):
    calls = [asyncio.ensure_future(caller.call(LARGE[0])) for _ in range(50)]
    await settled()
    calls += [asyncio.ensure_future(caller.call(small)) for _ in range(50)]
    await settled()
    assert caller.store.held == AT_ONCE + 50
    caller.store.let_go.set()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_a_large_read_that_fails_ends_its_turn(caller, monkeypatch):
    async def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(caller.store, "step", fail)
    for _ in range(2 * AT_ONCE):
        with pytest.raises(RuntimeError):
            await caller.call(LARGE[0])


async def test_app_environments_alternate():
    reads, order = LargeReads(), []

    async def read(home: str) -> None:
        await reads.begin(home)
        order.append(home)

    tasks = [asyncio.ensure_future(read(home)) for home in ["busy"] * (AT_ONCE + 6) + ["quiet"] * 2]
    await settled()
    assert Counter(order) == {"busy": AT_ONCE}
    for _ in range(8):
        reads.end()
        await settled()
    assert order[AT_ONCE:] == ["busy", "quiet"] * 2 + ["busy"] * 4
    await asyncio.gather(*tasks)


async def test_one_app_environment_waits_with_a_bounded_number_of_reads():
    reads = LargeReads()
    for _ in range(AT_ONCE):
        await reads.begin("busy")
    waiting = [asyncio.ensure_future(reads.begin("busy")) for _ in range(MOST_WAITING)]
    await settled()
    with pytest.raises(Overloaded):
        await reads.begin("busy")
    other = asyncio.ensure_future(reads.begin("quiet"))
    for _ in range(MOST_WAITING + 1):
        reads.end()
        await settled()
    await asyncio.gather(*waiting, other)


async def test_a_cancelled_read_passes_its_turn_on():
    reads = LargeReads()
    for _ in range(AT_ONCE):
        await reads.begin("home")
    first, second, third = (asyncio.ensure_future(reads.begin("home")) for _ in range(3))
    await settled()
    first.cancel()
    await settled()
    reads.end()
    second.cancel()  # after it was given the turn, before it runs
    await settled()
    assert third.done()
    assert not third.cancelled()
    for _ in range(AT_ONCE):
        reads.end()
    for _ in range(AT_ONCE):
        await reads.begin("home")


def test_a_large_read_is_refused_if_it_gets_no_turn_in_time():
    async def wait_too_long() -> float:
        reads = LargeReads()
        for _ in range(AT_ONCE):
            await reads.begin("home")
        began = asyncio.get_running_loop().time()
        with pytest.raises(Overloaded):
            await reads.begin("home")
        return asyncio.get_running_loop().time() - began

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(wait_too_long()) == pytest.approx(LONGEST_WAIT_SECONDS, rel=0.1)
