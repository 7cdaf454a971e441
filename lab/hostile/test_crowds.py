"""A thousand hostile clients are got rid of in time, and good ones do not notice them."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lab.hostile.conftest import SECONDS
from lab.hostile.crowd import Behaviour, Crowd
from lab.hostile.limits import affordable
from lab.hostile.watch import Watch
from tests.support.load import client_of
from tests.support.traffic import Habits, Traffic
from tests.support.wire import signed_call, until

SIZE = 1000
MARGIN_SECONDS = 2.5
"""A second of it is what a connection lingers for after its last answer."""

P99_SECONDS = 0.5
"""Bound of good calls, plus the seconds that this process waited for a processor within a moment."""
MOST_MIB = 100
GOOD = Habits(kept=6, fresh=2, every_seconds=0.05)

REFUSED_LATE = "HTTP/1.1 408 Request Timeout"
BODY = b'{"key":"big"}'
BODY_TO_COME = "POST /v1/put HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"


@asynccontextmanager
async def held(process):
    """Good clients are served while the block runs, and the process keeps its measure."""
    async with Watch(process) as watch, Traffic(process.urls["data"], GOOD) as traffic:
        await asyncio.sleep(0.2)
        yield watch
    await until(lambda: watch.open_files() <= watch.first_files + 2)
    assert traffic.failures == []
    assert traffic.answered > 100
    assert traffic.p99() < P99_SECONDS + traffic.held_up
    assert watch.failed_probes == []
    assert watch.probes > 5
    assert watch.slowest_probe < 1.0 + 5 * traffic.held_up
    assert watch.grown_mib < MOST_MIB
    assert process.process.poll() is None
    assert "Traceback" not in process.log.read_text()


def heavy(behaviour: Behaviour, answer: str, name: str) -> Any:
    return pytest.param(behaviour, answer, id=name, marks=pytest.mark.heavy)


@pytest.mark.parametrize(
    ("behaviour", "answer"),
    [
        pytest.param(
            Behaviour("POST /v1/get HTTP/1.1\r\n", drip="X: y\r\n"), REFUSED_LATE, id="heads that drip"
        ),
        pytest.param(
            Behaviour(BODY_TO_COME + "x" * 30_000, drip=" "), REFUSED_LATE, id="large bodies that drip"
        ),
        heavy(Behaviour(), REFUSED_LATE, "silence"),
        heavy(Behaviour(BODY_TO_COME, drip=" " * 10), REFUSED_LATE, "small bodies that drip"),
        heavy(Behaviour("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 404 Not Found", "idle connections"),
    ],
)
async def test_a_thousand_clients_that_send_too_little(start, behaviour, answer):
    process = start()
    async with held(process), Crowd(process.urls["data"], SIZE, behaviour) as crowd:
        end = await crowd.end(within_seconds=15)
        assert end.longest_seconds < SECONDS + MARGIN_SECONDS
        assert end.statuses == [answer]


async def test_a_thousand_clients_that_read_nothing(start):
    """They ask for a thousand large values a second, which a replica on a busy machine can serve."""
    process = start()
    async with client_of(process) as gateway:
        await gateway.put("big", "x" * 65_000)
        opening = signed_call(gateway, "get", BODY, extra=()).decode() * 3
    crowd = Crowd(process.urls["data"], SIZE, Behaviour(opening, reads=False, pace_seconds=0.03))
    async with held(process) as watch, crowd:
        await until(lambda: watch.open_files() < watch.first_files + 20)
    assert watch.most_files > watch.first_files + SIZE / 5


async def test_connections_beyond_the_cap_drive_out_their_own_and_good_ones_stay(start):
    process = start(edge={"max_connections": 100, "idle_seconds": 30})
    async with Traffic(process.urls["data"], Habits(kept=20, every_seconds=0.1)) as traffic:
        await until(lambda: traffic.answered >= 20)
        async with Crowd(process.urls["data"], SIZE, Behaviour()) as crowd:
            end = await crowd.end(within_seconds=15)
            assert end.statuses == ["", REFUSED_LATE]
    assert traffic.failures == []
    assert process.process.poll() is None


@pytest.mark.heavy
async def test_ten_thousand_connect_without_delay_and_cost_little(start):
    """The backlog is long enough: connections that find no place in it are tried again after a second."""
    process = start(edge={"head_seconds": 60, "max_connections": 11_000})
    size = affordable(10_000)
    crowd = Crowd(process.urls["data"], size, Behaviour(pace_seconds=0))
    async with held(process) as watch, crowd:
        assert crowd.connect_seconds < 15
        await until(lambda: watch.open_files() > size)
