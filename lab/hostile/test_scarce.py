"""Hostile clients use up what is scarce, and lose it: good ones are served all along (D150)."""

import asyncio

import pytest

from lab.hostile.crowd import Behaviour, Crowd
from lab.hostile.watch import Watch
from tests.support.traffic import Habits, Traffic
from tests.support.wire import until

SIZE = 1000
PATIENT = {"head_seconds": 5, "body_seconds": 10, "idle_seconds": 75, "write_seconds": 10}
GOOD = Habits(kept=10, fresh=10, hesitant=20, every_seconds=0.1)
ENOUGH = 1500
MOST_FAILURES = 0.01
P99_SECONDS = 0.1
"""Bound, plus five times the seconds that this process and the gateway's waited for a processor."""

HEAD_OF_55_BYTES = "POST /v1/put HTTP/1.1\r\nHost: xy\r\nContent-Length: 99\r\n\r\n"
NOWHERE = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

ATTACKS = {
    "heads without a body": ({}, Behaviour(HEAD_OF_55_BYTES)),
    "connections kept without a use": ({"max_connections": SIZE}, Behaviour(NOWHERE)),
    "silent connections": ({"max_connections": SIZE // 2}, Behaviour()),
    "halves of heads that drip": ({"max_connections": SIZE // 2}, Behaviour("GET / HT", drip="T")),
    "heads without a body that take all places": (
        {"max_connections": SIZE // 2},
        Behaviour(HEAD_OF_55_BYTES),
    ),
}


def test_the_head_has_55_bytes():
    assert len(HEAD_OF_55_BYTES) == 55


@pytest.mark.parametrize(("edge", "behaviour"), ATTACKS.values(), ids=ATTACKS)
async def test_good_clients_are_served_while_others_use_up_scarce_resources(start, edge, behaviour):
    process = start(edge=PATIENT | edge)
    async with (
        Watch(process) as watch,
        Crowd(process.urls["data"], SIZE, behaviour),
        Traffic(process.urls["data"], GOOD) as traffic,
    ):
        await until(lambda: traffic.answered + len(traffic.failures) >= ENOUGH)
    assert len(traffic.failures) <= MOST_FAILURES * ENOUGH, traffic.failures[:5]
    assert traffic.p99() < P99_SECONDS + traffic.held_up
    assert watch.failed_probes == []


@pytest.mark.parametrize("listener", ["ops", "control"])
async def test_a_side_listener_full_of_kept_connections_answers_new_ones(start, listener):
    process = start(edge=PATIENT | {"max_connections": 200})
    async with Crowd(process.urls[listener], 300, Behaviour(NOWHERE)), Watch(process) as watch:
        await until(lambda: watch.probes >= 10)
        _, writer = await asyncio.open_connection(*address_of(process.urls[listener]))
        writer.close()
    assert watch.failed_probes == []


def address_of(url: str) -> tuple[str, int]:
    host, port = url.removeprefix("http://").split(":")
    return host, int(port)
