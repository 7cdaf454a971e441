"""Any sequence of charges sees the windows that the contract describes."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from backends import MemorySettings
from backends.memory.backend import MemoryBackend
from gateway.domain.errors import RateLimited
from tests.support.calls import Caller, grant
from tests.support.clock import FakeClock

CHARGES = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([1, 2, 3, 5]))
STEPS_MS = st.sampled_from([1, 999, 1000, 20_000, 59_999, 60_000, 61_000])


class Windows:
    """The contract: a window opens at the first charge, lasts 60 s and admits up to the limit."""

    def __init__(self) -> None:
        self._windows: dict[str, list[int]] = {}

    def charge(self, bucket: str, limit: int, now_ms: int) -> int | None:
        """Charges once. Returns Retry-After if it is refused, None if it passes."""
        closes_at_ms, count = self._windows.get(bucket, [now_ms, 0])
        if closes_at_ms <= now_ms:
            closes_at_ms, count = now_ms + 60_000, 0
        self._windows[bucket] = [closes_at_ms, min(count + 1, max(limit, count))]
        return None if count < limit else -((now_ms - closes_at_ms) // 1000)


async def seen(limit: Caller, bucket: str, number: int) -> int | None:
    try:
        await limit.charge(grant((bucket, number)))
    except RateLimited as refusal:
        return refusal.retry_after_seconds
    return None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(CHARGES, CHARGES, STEPS_MS), max_size=60))
def test_any_sequence_of_charges_is_judged_as_the_contract_says(acts):
    async def check() -> None:
        clock = FakeClock()
        limit = Caller(MemoryBackend(MemorySettings(), clock).charged, clock)
        model = Windows()
        for act in acts:
            match act:
                case int(step_ms):
                    clock.advance(step_ms)
                case (bucket, number):
                    assert await seen(limit, bucket, number) == model.charge(
                        bucket, number, clock.monotonic_ms()
                    )

    asyncio.run(check())
