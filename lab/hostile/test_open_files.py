"""Connections never use up the process's files, so that probes are always answered."""

import json

import pytest

from lab.hostile.crowd import Crowd
from lab.hostile.watch import Watch
from tests.support.load import client_of
from tests.support.wire import until

LATE = "HTTP/1.1 408 Request Timeout"
SIZE = 800


def limited(option: str) -> list[str]:
    return ["sh", "-c", f'ulimit {option} 256; exec "$@"', "sh"]


def warnings_of(process) -> list[dict]:
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    return [line for line in lines if "limit of open files" in line["message"]]


async def attack(process) -> list[str]:
    """Returns the answers to silent clients while probes continue; calls are served again at the end."""
    async with Watch(process) as watch:
        async with Crowd(process.urls["data"], SIZE) as crowd:
            end = await crowd.end(within_seconds=15)
        await until(lambda: watch.probes > 10)
    assert watch.failed_probes == []
    async with client_of(process) as gateway:
        assert (await gateway.put("k", 1)).status == 200
    return end.statuses


async def test_a_low_limit_that_may_be_raised_is_raised(start):
    process = start(launcher=limited("-Sn"))
    assert await attack(process) == [LATE]
    assert warnings_of(process) == []


async def test_a_limit_that_may_not_be_raised_bounds_the_connections(start):
    process = start(launcher=limited("-n"))
    assert await attack(process) == ["", LATE]
    (warning,) = warnings_of(process)
    assert warning["max_connections"] == 64


@pytest.mark.parametrize("listener", ["ops", pytest.param("control", marks=pytest.mark.heavy)])
async def test_a_thousand_silent_clients_of_a_side_listener_keep_nobody_out(start, listener):
    process = start()
    async with Watch(process) as watch, Crowd(process.urls[listener], 1000) as crowd:
        async with client_of(process) as gateway:
            assert (await gateway.put("k", 1)).status == 200
            assert (await gateway.manage("GET", "/v1/orgs/acme/apps")).status == 200
            assert b"kvs_usage" in (await gateway.ask_ops("/metrics")).body
        assert (await crowd.end(within_seconds=15)).statuses == [LATE]
    assert watch.failed_probes == []
