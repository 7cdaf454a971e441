"""The rate limit by itself: order of budgets, remembered verdicts, a dead counter."""

import asyncio

import pytest

from backends import MemorySettings
from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.interface import Charge
from backends.memory.backend import MemoryBackend
from backends.sequential import SequentialSteps
from backends.tables import Refused
from gateway.domain.errors import QuotaUnavailable, RateLimited
from gateway.domain.model import Batch, Get, Grant, ResponseNotes
from tests.support.calls import Caller, grant
from tests.support.stores import Faults, FaultyBackend


async def admitted(limit: Caller, subject: Grant, times: int) -> int:
    """Counts the charges in a row that pass."""
    passed = 0
    for _ in range(times):
        try:
            await limit.charge(subject)
        except RateLimited:
            continue
        passed += 1
    return passed


async def refusal(limit: Caller, subject: Grant) -> RateLimited:
    with pytest.raises(RateLimited) as caught:
        await limit.charge(subject)
    return caught.value


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def backend(clock, faults):
    return FaultyBackend(MemoryBackend(MemorySettings(), clock), faults)


@pytest.fixture(params=["in one step", "in calls of its own"])
def store(request, backend):
    """A store that charges all budgets at once, and one that charges each by itself."""
    if request.param == "in one step":
        return backend.charged
    return SequentialSteps(backend.counters, backend.tables)


@pytest.fixture
def limit(clock, store) -> Caller:
    return Caller(store, clock)


async def test_exactly_the_limit_of_charges_passes(limit):
    assert await admitted(limit, grant(("env", 5)), 20) == 5


async def test_two_replicas_admit_the_limit_together(clock, store):
    replicas = [Caller(store, clock) for _ in range(2)]
    passed = [await admitted(replica, grant(("env", 100)), 80) for replica in replicas]
    assert sum(passed) == 100


@pytest.mark.parametrize(
    ("later_ms", "seconds"), [(0, 60), (1, 60), (1000, 59), (30_500, 30), (59_000, 1), (59_999, 1)]
)
async def test_retry_after_is_the_whole_seconds_to_the_windows_end(clock, limit, later_ms, seconds):
    await limit.charge(grant(("env", 1)))
    clock.advance(later_ms)
    assert (await refusal(limit, grant(("env", 1)))).retry_after_seconds == seconds


@pytest.mark.parametrize("later_ms", [0, 1, 999, 1000, 30_500, 59_001, 59_999])
@pytest.mark.parametrize("asked", [1, 2], ids=["refused by the store", "refused by the cache"])
async def test_a_client_that_waits_for_retry_after_is_admitted(clock, limit, later_ms, asked):
    await limit.charge(grant(("env", 1)))
    clock.advance(later_ms)
    for _ in range(asked):
        refused = await refusal(limit, grant(("env", 1)))
    clock.advance(refused.retry_after_seconds * 1000)
    await limit.charge(grant(("env", 1)))


async def test_a_flood_over_the_limit_calls_the_store_once(limit, faults):
    await admitted(limit, grant(("env", 3)), 1000)
    assert faults.count("charge") == 4


async def test_every_admitted_charge_calls_the_store(limit, faults):
    await admitted(limit, grant(("env", 100)), 50)
    assert faults.count("charge") == 50


async def test_a_cached_refusal_ends_with_its_window(clock, limit, faults):
    await admitted(limit, grant(("env", 1)), 5)
    clock.advance(59_999)
    assert await admitted(limit, grant(("env", 1)), 1) == 0
    clock.advance(1)
    assert await admitted(limit, grant(("env", 1)), 5) == 1
    assert faults.count("charge") == 4


async def test_a_cached_refusal_does_not_depend_on_the_wall_clock(clock, limit):
    await admitted(limit, grant(("env", 1)), 2)
    clock.jump_wall(3_600_000)
    assert (await refusal(limit, grant(("env", 1)))).retry_after_seconds == 60


async def test_a_slow_refusal_is_not_cached_beyond_its_window(clock):
    """The store's 1,000 ms count from the request at the latest; 700 passed before the answer arrived."""

    class SlowStore:
        asked = 0

        async def step(self, charges, *_, **__) -> Refused:
            self.asked += 1
            clock.advance(700)
            return Refused(charges.budgets[0], Charge(admitted=False, closes_in_ms=1000))

    counter = SlowStore()
    limit = Caller(counter, clock)
    await refusal(limit, grant(("env", 1)))
    clock.advance(299)
    await refusal(limit, grant(("env", 1)))
    assert counter.asked == 1
    clock.advance(1)
    await refusal(limit, grant(("env", 1)))
    assert counter.asked == 2


async def test_a_raised_limit_takes_effect_immediately(limit):
    await admitted(limit, grant(("env", 3)), 10)
    assert await admitted(limit, grant(("env", 5)), 10) == 2


async def test_a_lowered_limit_takes_effect_immediately(limit):
    await admitted(limit, grant(("env", 10)), 5)
    assert await admitted(limit, grant(("env", 4)), 5) == 0


async def test_a_full_table_is_refused_while_another_is_served(limit):
    small, other = grant(("tbl_a", 2), ("env", 100)), grant(("env", 100))
    assert await admitted(limit, small, 10) == 2
    assert await admitted(limit, other, 10) == 10


async def test_a_call_refused_by_its_table_is_not_charged_to_the_environment(limit):
    assert await admitted(limit, grant(("tbl_a", 2), ("env", 5)), 100) == 2
    assert await admitted(limit, grant(("env", 5)), 5) == 3


async def test_a_call_refused_by_its_table_on_another_replica_is_not_charged_to_the_environment(clock, store):
    replicas = [Caller(store, clock) for _ in range(2)]
    assert [await admitted(replica, grant(("tbl_a", 2), ("env", 5)), 10) for replica in replicas] == [2, 0]
    assert await admitted(replicas[0], grant(("env", 5)), 5) == 3


async def test_a_flood_over_a_full_environment_calls_neither_counter(clock, backend, faults):
    """The environment's verdict is remembered, so a table's own budget is not spent on it either."""
    limit = Caller(SequentialSteps(backend.counters, backend.tables), clock)
    await admitted(limit, grant(("tbl_a", 50), ("env", 2)), 1000)
    assert faults.calls == [("charge", "tbl_a"), ("charge", "env")] * 3 + [("refund", "tbl_a")]


async def test_a_call_refused_by_its_environment_is_not_charged_to_the_table(limit):
    assert await admitted(limit, grant(("tbl_a", 5), ("env", 2)), 4) == 2
    assert await admitted(limit, grant(("tbl_a", 5)), 9) == 3


async def test_a_batch_is_charged_as_many_requests_as_it_has_operations(limit):
    await limit.execute(grant(("env", 5)), Batch((Get("a"), Get("b"), Get("c"))))
    assert await admitted(limit, grant(("env", 5)), 9) == 2


async def test_a_batch_that_does_not_fit_charges_nothing_and_single_requests_still_pass(limit):
    with pytest.raises(RateLimited) as caught:
        await limit.execute(grant(("tbl_a", 9), ("env", 5)), Batch((Get("a"),) * 6))
    assert caught.value.retry_after_seconds == 60
    assert await admitted(limit, grant(("tbl_a", 9), ("env", 5)), 9) == 5
    assert await admitted(limit, grant(("tbl_a", 9)), 9) == 4


async def test_a_verdict_on_a_single_request_holds_for_batches(limit, faults):
    await admitted(limit, grant(("env", 2)), 3)
    asked = faults.count("charge")
    with pytest.raises(RateLimited):
        await limit.execute(grant(("env", 2)), Batch((Get("a"), Get("b"))))
    assert faults.count("charge") == asked


async def test_a_call_over_both_limits_gets_the_later_retry_after(clock, limit):
    await admitted(limit, grant(("tbl_a", 1)), 2)
    clock.advance(20_000)
    await admitted(limit, grant(("env", 1)), 2)
    both = grant(("tbl_a", 1), ("env", 1))
    waits = (await refusal(limit, both)).retry_after_seconds
    clock.advance(waits * 1000)
    await limit.charge(both)


async def test_buckets_do_not_share_a_window(limit):
    await admitted(limit, grant(("env", 2)), 5)
    assert await admitted(limit, grant(("other", 2)), 5) == 2


async def test_the_cache_is_bounded_and_holds_valid_tokens_only(limit, faults):
    """A refusal that was evicted from the cache is refused by the store again."""
    for number in range(10_001):
        await admitted(limit, grant((f"env{number}", 1)), 2)
    for bucket, asked in (("env10000", 0), ("env0", 1)):
        before = faults.count("charge")
        await refusal(limit, grant((bucket, 1)))
        assert faults.count("charge") - before == asked


@pytest.mark.parametrize("error", [BackendUnavailable, BackendMisconfigured])
async def test_a_failing_counter_is_quota_unavailable_and_no_refusal_is_cached(limit, faults, error):
    faults.fail, faults.error = {"charge"}, error
    with pytest.raises(QuotaUnavailable):
        await limit.charge(grant(("env", 1)))
    faults.fail = set()
    await limit.charge(grant(("env", 1)))


@pytest.fixture
def lenient(clock, backend) -> Caller:
    return Caller(SequentialSteps(backend.counters, backend.tables, is_lenient=True), clock)


async def test_a_lenient_limit_admits_while_the_counter_is_down(lenient, faults):
    faults.fail = {"charge"}
    assert await admitted(lenient, grant(("env", 1)), 5) == 5


async def test_a_lenient_limit_still_refuses_calls_over_the_limit(lenient):
    assert await admitted(lenient, grant(("env", 2)), 5) == 2


async def test_a_refund_that_fails_leaves_the_refusal(clock, backend, faults):
    limit = Caller(SequentialSteps(backend.counters, backend.tables), clock)
    faults.fail = {"refund"}
    assert await admitted(limit, grant(("tbl_a", 9), ("env", 2)), 3) == 2


async def test_parallel_charges_pass_exactly_the_limit(limit, faults):
    faults.gate.clear()
    charges = [asyncio.create_task(limit.charge(grant(("env", 20)))) for _ in range(60)]
    await asyncio.sleep(0)
    faults.gate.set()
    outcomes = await asyncio.gather(*charges, return_exceptions=True)
    assert sum(isinstance(each, ResponseNotes) for each in outcomes) == 20
    assert sum(isinstance(outcome, RateLimited) for outcome in outcomes) == 40
