"""The machine's wall clock jumps under load: windows and deadlines do not notice, signatures do.

Only calls that are on their way at the very moment may be refused, because they were signed before it.
"""

import asyncio
import datetime as dt
import time
from contextlib import AsyncExitStack
from email.utils import parsedate_to_datetime

import pytest

from lab.faults.fleet import Fleet
from tests.support.config import BASE
from tests.support.evidence import note_fault
from tests.support.faketime import WallClock
from tests.support.load import Answer, Load, client_of
from tests.support.process import PATIENT
from tests.support.redis import RedisServer

LIMIT = 30
TOKEN = "token-of-the-limited-app"
LIMITED = {"org": "acme", "app": "limited", "type": "api", "requests_per_minute": LIMIT}
APPS = {"apps": [*BASE["apps"], {**LIMITED, "tables": [{"name": "t", "token": TOKEN}]}]}
MOMENT_SECONDS = 0.5


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.heavy)])
async def fleet(request, tmp_path, wall):
    """One replica on memory, two on Redis; the clock of Redis itself is right."""
    async with AsyncExitStack() as opened:
        changes = [APPS]
        if request.param == "redis":
            server = opened.enter_context(RedisServer())
            changes = [{**APPS, "store": {"kind": "redis", "url": server.url}}] * 2
        fleet = await opened.enter_async_context(Fleet(tmp_path, changes, wall.environment, PATIENT))
        for gateway in fleet.gateways:
            gateway.clock = wall.clock
        yield fleet


@pytest.fixture
def wall(tmp_path):
    return WallClock(tmp_path)


def jump(wall: WallClock, seconds: float) -> float:
    note_fault("clock jumped")
    wall.jump(seconds)
    return time.monotonic()


def assert_undisturbed(load: Load, jumps: list[float]) -> None:
    """Every answer is right; refused are at most those that were signed by the old time."""
    moment = MOMENT_SECONDS + load.held_up

    def on_its_way(answer: Answer) -> bool:
        return any(jumped - moment < answer.sent_at < jumped + moment for jumped in jumps)

    others = {(each.status, each.code) for each in load.answers if not on_its_way(each)}
    assert others == {(200, None)}
    assert {(each.status, each.code) for each in load.answers} <= {(200, None), (403, "signature_expired")}
    assert load.lies == []
    assert max(each.seconds for each in load.answers) < 1 + load.held_up


async def assert_signed_by_the_true_time_is_refused(process) -> None:
    async with client_of(process) as gateway:
        refused = await gateway.get("k")
    assert (refused.status, refused.error) == (403, "signature_expired")


async def test_jumps_in_both_directions_change_no_window_and_no_deadline(fleet, wall):
    opened = time.monotonic()
    gateways = fleet.gateways
    statuses = [(await gateways[0].get("k", token=TOKEN)).status for _ in range(LIMIT + 1)]
    assert statuses == [200] * LIMIT + [429]
    jumps = []
    async with Load(gateways, per_second=200) as load:
        for seconds in (3600, -120, -600, 0):
            await asyncio.sleep(MOMENT_SECONDS + load.held_up)
            jumps.append(jump(wall, seconds))
            await asyncio.sleep(MOMENT_SECONDS + load.held_up)
            for gateway, process in zip(gateways, fleet.processes, strict=True):
                still = await gateway.get("k", token=TOKEN)
                left = 60 - (time.monotonic() - opened)
                assert still.status == 429
                assert abs(int(still.headers["Retry-After"]) - left) < 2 + load.held_up
                if abs(seconds) > 300:
                    await assert_signed_by_the_true_time_is_refused(process)
    await load.check_all()
    assert_undisturbed(load, jumps)


@pytest.mark.heavy
async def test_midnight_passes_without_an_error(fleet, wall):
    now = dt.datetime.now(dt.UTC)
    midnight = dt.datetime.combine(now.date() + dt.timedelta(days=1), dt.time(), dt.UTC)
    async with Load(fleet.gateways, per_second=200) as load:
        await asyncio.sleep(MOMENT_SECONDS)
        jumped = jump(wall, (midnight - now).total_seconds() - 1.5)
        await asyncio.sleep(MOMENT_SECONDS + 3)
        for gateway in fleet.gateways:
            shown = parsedate_to_datetime((await gateway.get("k")).headers["Date"])
            assert shown.date() == midnight.date()
    await load.check_all()
    assert_undisturbed(load, [jumped])
