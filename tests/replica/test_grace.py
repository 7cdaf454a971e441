"""Calls that do not finish within the grace are answered 503 shutting_down."""

import asyncio

from tests.support.gateway import run_gateway
from tests.support.wire import until


async def _stuck_calls(gateway, number: int) -> list[asyncio.Task]:
    gateway.faults.gate.clear()
    calls = [asyncio.create_task(gateway.get(f"key {each}")) for each in range(number)]
    await until(lambda: gateway.faults.count("charge") >= number)
    return calls


async def test_calls_that_are_stuck_beyond_the_grace_are_503(gateway):
    calls = await _stuck_calls(gateway, 3)
    await gateway.replica.drain()
    for reply in await asyncio.gather(*calls):
        assert (reply.status, reply.json) == (503, {"error": "shutting_down"})
        assert reply.headers["Retry-After"] == "1"
        assert reply.headers["Connection"] == "close"


async def test_an_interrupt_is_as_patient_with_calls_in_flight():
    async with run_gateway({"shutdown": {"grace_seconds": 60}}) as gateway:
        (call,) = await _stuck_calls(gateway, 1)
        ending = asyncio.create_task(gateway.replica.finish())
        await asyncio.sleep(0.05)
        assert not ending.done()
        gateway.faults.gate.set()
        assert (await call).status == 200
        await ending


async def test_calls_that_finish_within_the_grace_are_answered():
    async with run_gateway({"shutdown": {"grace_seconds": 60}}) as gateway:
        calls = await _stuck_calls(gateway, 3)
        drain = asyncio.create_task(gateway.replica.drain())
        await asyncio.sleep(0.05)
        gateway.faults.gate.set()
        assert [reply.status for reply in await asyncio.gather(*calls)] == [200] * 3
        await gateway.ask_ops("/metrics")
        await drain


async def test_a_call_that_was_cut_off_is_counted_as_a_refusal(gateway):
    calls = await _stuck_calls(gateway, 2)
    await gateway.replica.drain()
    await asyncio.gather(*calls)
    assert (await gateway.metrics())['kvs_refusals_total{code="shutting_down"}'] == 2
