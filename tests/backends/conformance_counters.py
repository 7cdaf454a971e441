"""The rules for every window counter."""

import asyncio
from secrets import token_hex

import pytest

from backends.interface import Charge
from tests.backends.conformance_base import Conformance, Opened

ROUNDING_MS = 2
"""Rounding between two clocks of milliseconds."""


class WindowCounterConformance(Conformance):
    @pytest.fixture
    def bucket(self) -> str:
        return f"org/app/{token_hex(8)}"

    async def _charge(
        self, opened: Opened, bucket: str, limit: int, times: int, window_ms: int | None = None
    ) -> list[Charge]:
        """Makes concurrent charges, distributed over the replicas."""
        replicas = opened.replicas
        return await asyncio.gather(
            *(
                replicas[number % len(replicas)].counters.charge(bucket, limit, window_ms or self.window_ms)
                for number in range(times)
            )
        )

    @pytest.mark.parametrize("limit", [1, 7, 100])
    async def test_concurrent_charges_are_admitted_exactly_up_to_the_limit(self, opened, bucket, limit):
        charges = await self._charge(opened, bucket, limit, 3 * limit + 50)
        assert sum(charge.admitted for charge in charges) == limit

    async def test_windows_of_different_buckets_are_independent(self, opened, bucket):
        await self._charge(opened, bucket, 1, 2)
        assert (await self._charge(opened, f"{bucket}2", 1, 1))[0].admitted

    async def test_a_refused_charge_is_not_counted(self, opened, bucket):
        await self._charge(opened, bucket, 2, 10)
        assert [charge.admitted for charge in await self._charge(opened, bucket, 3, 2)].count(True) == 1

    async def test_a_limit_may_be_raised_within_a_window(self, opened, bucket):
        await self._charge(opened, bucket, 5, 5)
        charges = await self._charge(opened, bucket, 8, 10)
        assert sum(charge.admitted for charge in charges) == 3

    async def test_a_limit_may_be_lowered_within_a_window(self, opened, bucket):
        await self._charge(opened, bucket, 5, 3)
        assert not (await self._charge(opened, bucket, 2, 1))[0].admitted

    async def test_a_charge_returns_the_remaining_charges_of_its_window(self, opened, bucket):
        remaining = [charge.remaining for charge in await self._charge(opened, bucket, 3, 5)]
        assert sorted(remaining) == [0, 0, 0, 1, 2]
        assert (await self._charge(opened, bucket, 9, 1))[0].remaining == 5
        assert (await self._charge(opened, bucket, 2, 1))[0].remaining == 0

    async def test_a_window_lasts_its_full_length_from_its_first_charge(self, opened, bucket):
        began_ms = opened.wall_ms()
        (first,) = await self._charge(opened, bucket, 9, 1)
        passed_ms = opened.wall_ms() - began_ms
        assert self.window_ms - passed_ms - ROUNDING_MS <= first.closes_in_ms <= self.window_ms

    @pytest.mark.parametrize("limit", [1, 9], ids=["refused", "admitted"])
    async def test_the_time_to_the_close_is_exact_to_the_millisecond(self, opened, bucket, limit):
        began_ms = opened.wall_ms()
        await self._charge(opened, bucket, 9, 1)
        waited_ms = self.short_ms // 3
        await opened.pass_time(waited_ms)
        (later,) = await self._charge(opened, bucket, limit, 1)
        passed_ms = opened.wall_ms() - began_ms
        least_ms = max(self.window_ms - passed_ms - ROUNDING_MS, 1)
        assert least_ms <= later.closes_in_ms <= self.window_ms - waited_ms

    async def test_a_refusal_does_not_prolong_the_window(self, opened, bucket):
        await self._charge(opened, bucket, 1, 1, self.short_ms)
        await opened.pass_time(self.short_ms // 2)
        (refused,) = await self._charge(opened, bucket, 1, 1, self.short_ms)
        await opened.pass_time(refused.closes_in_ms)
        assert (await self._charge(opened, bucket, 1, 1, self.short_ms))[0].admitted

    async def test_a_full_window_refuses_until_just_before_its_close(self, opened, bucket):
        began_ms = opened.wall_ms()
        await self._charge(opened, bucket, 1, 1, self.short_ms)
        await opened.pass_time(self.short_ms - self.slack_ms - 1)
        (late,) = await self._charge(opened, bucket, 1, 1, self.short_ms)
        is_closed = opened.wall_ms() - began_ms >= self.short_ms  # this machine was kept busy
        assert is_closed or not late.admitted

    async def test_after_the_close_a_new_window_of_full_length_opens(self, opened, bucket):
        await self._charge(opened, bucket, 2, 5, self.short_ms)
        await opened.pass_time(self.short_ms + self.short_ms // 4)
        began_ms = opened.wall_ms()
        charges = await self._charge(opened, bucket, 2, 5)
        assert sum(charge.admitted for charge in charges) == 2
        passed_ms = opened.wall_ms() - began_ms
        assert charges[0].closes_in_ms >= self.window_ms - passed_ms - ROUNDING_MS
