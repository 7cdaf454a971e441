"""The rate limit by itself: order of budgets, remembered verdicts, a dead counter."""

import asyncio

import pytest

from backends import MemorySettings
from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.interface import Charge, Keyspace
from backends.memory.backend import MemoryBackend
from backends.tables import Budget, Charges, Table
from gateway.dataplane.policies.rate_limit import ExactRateLimiter, LenientRateLimiter
from gateway.domain.errors import QuotaUnavailable, RateLimited
from gateway.domain.model import Grant, TenantLabels
from tests.support.stores import Faults, FaultyBackend


def grant(*budgets: tuple[str, int]) -> Grant:
    """A grant that charges buckets with limits."""
    labels = TenantLabels("acme", "shop", "production", "sessions")
    return Grant(
        Table("o/a/e", Keyspace("tbl_a")),
        Charges(tuple(Budget(*budget) for budget in budgets), 60_000),
        labels,
    )


async def admitted(limit: ExactRateLimiter | LenientRateLimiter, subject: Grant, times: int) -> int:
    """Counts the charges in a row that pass."""
    passed = 0
    for _ in range(times):
        try:
            await limit.charge(subject)
        except RateLimited:
            continue
        passed += 1
    return passed


async def refusal(limit: ExactRateLimiter | LenientRateLimiter, subject: Grant) -> RateLimited:
    with pytest.raises(RateLimited) as caught:
        await limit.charge(subject)
    return caught.value


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def counters(clock, faults):
    return FaultyBackend(MemoryBackend(MemorySettings(), clock), faults).counters


@pytest.fixture
def limit(clock, counters) -> ExactRateLimiter:
    return ExactRateLimiter(counters, clock.monotonic_ms)


async def test_exactly_the_limit_of_charges_passes(limit):
    assert await admitted(limit, grant(("env", 5)), 20) == 5


async def test_two_replicas_admit_the_limit_together(clock, counters):
    replicas = [ExactRateLimiter(counters, clock.monotonic_ms) for _ in range(2)]
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

    class SlowCounter:
        asked = 0

        async def charge(self, bucket: str, limit: int, window_ms: int) -> Charge:
            self.asked += 1
            clock.advance(700)
            return Charge(admitted=False, closes_in_ms=1000)

    counter = SlowCounter()
    limit = ExactRateLimiter(counter, clock.monotonic_ms)
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


async def test_a_call_refused_by_its_table_on_another_replica_is_not_charged_to_the_environment(
    clock, counters
):
    replicas = [ExactRateLimiter(counters, clock.monotonic_ms) for _ in range(2)]
    assert [await admitted(replica, grant(("tbl_a", 2), ("env", 5)), 10) for replica in replicas] == [2, 0]
    assert await admitted(replicas[0], grant(("env", 5)), 5) == 3


async def test_a_flood_over_a_full_environment_calls_neither_counter(limit, faults):
    """The environment's verdict is remembered, so a table's own budget is not spent on it either."""
    await admitted(limit, grant(("tbl_a", 50), ("env", 2)), 1000)
    assert [bucket for _, bucket in faults.calls] == ["tbl_a", "env"] * 3


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


async def test_a_lenient_limit_admits_while_the_counter_is_down(limit, faults):
    faults.fail = {"charge"}
    assert await admitted(LenientRateLimiter(limit), grant(("env", 1)), 5) == 5


async def test_a_lenient_limit_still_refuses_calls_over_the_limit(limit):
    assert await admitted(LenientRateLimiter(limit), grant(("env", 2)), 5) == 2


async def test_parallel_charges_pass_exactly_the_limit(limit, faults):
    faults.gate.clear()
    charges = [asyncio.create_task(limit.charge(grant(("env", 20)))) for _ in range(60)]
    await asyncio.sleep(0)
    faults.gate.set()
    outcomes = await asyncio.gather(*charges, return_exceptions=True)
    assert outcomes.count(None) == 20
    assert sum(isinstance(outcome, RateLimited) for outcome in outcomes) == 40
