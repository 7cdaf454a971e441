"""Background loops and their intervals, by a clock that hurries."""

import asyncio

import pytest

from tests.support.gateway import run_gateway


@pytest.mark.virtual_time
@pytest.mark.parametrize("operation", ["changes", "ping"])
async def test_the_feed_and_the_health_of_the_stores_are_polled_every_second(operation):
    async with run_gateway() as gateway:
        await asyncio.sleep(0.5)
        before = gateway.faults.count(operation)
        for seconds in range(1, 11):
            await asyncio.sleep(1)
            assert seconds - 1 <= gateway.faults.count(operation) - before <= seconds
