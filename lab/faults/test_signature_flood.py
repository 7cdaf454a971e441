"""Calls that are signed wrongly cost no store call and no series, and do not keep good calls waiting."""

import asyncio
import json
import time

import pytest

from lab.faults.fleet import Fleet
from tests.support.evidence import note
from tests.support.load import Line, Load
from tests.support.process import PATIENT
from tests.support.redis import RedisServer
from tests.support.signing import Signer
from tests.support.wire import signed_call

STEPS = [
    f'kvs_store_duration_seconds_count{{backend="redis",operation="{each}",outcome="ok"}}'
    for each in ("put", "get", "delete")
]
CLIENTS = 10


@pytest.mark.parametrize(
    ("seconds", "per_second"),
    [(2, 500), pytest.param(20, 2_000, marks=pytest.mark.heavy)],
    ids=["2 seconds", "20 seconds"],
)
async def test_a_flood_of_wrong_signatures_beside_good_traffic(tmp_path, seconds, per_second):
    with RedisServer() as server:
        changes = {"store": {"kind": "redis", "url": server.url}}
        async with Fleet(tmp_path, [changes], module=PATIENT) as fleet:
            gateway = fleet.gateways[0]
            series = len(await gateway.metrics())
            before = _steps(await gateway.metrics())
            async with Load([gateway], clients=CLIENTS, per_second=100) as load:
                tried = await _flood(gateway, seconds, per_second)
            await load.check_all()
            metrics = await gateway.metrics()
    assert load.lies == []
    assert {answer.status for answer in load.answers} == {200}
    steps = _steps(metrics) - before
    assert len(load.answers) <= steps <= len(load.answers) + CLIENTS  # whose last call was cut short
    assert len(metrics) <= series + 10
    assert tried > 100
    quickest_half = sorted(answer.seconds for answer in load.answers)[: len(load.answers) // 2]
    assert quickest_half[-1] < 0.05 + load.held_up + fleet.watch.own_lag


async def _flood(gateway, seconds: float, per_second: int) -> int:
    """Returns the number of refusals; every request must be refused."""
    good, gateway.signer = gateway.signer, Signer(secret_access_key="not the secret")
    wrong = signed_call(gateway, "put", json.dumps({"key": "k", "value": 1}).encode(), extra=())
    gateway.signer = good
    began, tried, clients = time.monotonic(), 0, 20

    async def attack() -> None:
        nonlocal tried
        async with Line(gateway) as line:
            while time.monotonic() - began < seconds:
                due = time.monotonic() + clients / per_second
                reply = await line.ask(wrong)
                assert (reply.status, reply.error) == (403, "signature_mismatch")
                tried += 1
                await asyncio.sleep(max(due - time.monotonic(), 0))

    await asyncio.gather(*(attack() for _ in range(clients)))
    note(tried=tried)
    return tried


def _steps(metrics: dict[str, float]) -> float:
    return sum(metrics.get(series, 0) for series in STEPS)
