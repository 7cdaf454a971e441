"""Parts are killed or stopped under load: failures are counted, refusals come in time, and all recovers."""

import asyncio
import signal
import time

import pytest

from lab.cluster import processes
from lab.cluster.load import Load

DEADLINE_SECONDS = 2.0
"""For a refusal: a call of Redis has 250 ms; the rest is room for two cores that do everything here."""

STOPPED_SECONDS = 5.0


@pytest.fixture(scope="module")
def caller(site):
    site.with_replicas(2)
    return site.caller("faults", "entries")


async def _under_load(caller, site, fault, shown, ledgers):
    """The load, which goes on until requests have succeeded for a while."""
    async with Load(caller, name=fault.__name__) as load:
        await asyncio.sleep(1)
        await asyncio.to_thread(fault, site)
        await asyncio.to_thread(site.settled, 2)
        await asyncio.to_thread(site.until, lambda: load.last_failure < time.monotonic() - 3)
    ledgers.of("faults", "entries").add(load)
    load.show(shown)
    shown.seen.append(f"{len(load.failures)} of {load.statuses.total()} failed")
    assert load.wrong == []
    assert load.statuses[200] > 1_000
    return load


def kill_a_process(site):
    processes.send(processes.GATEWAY, signal.SIGKILL)


def delete_a_pod_by_force(site):
    site.here("delete", "pod", site.pods()[0]["metadata"]["name"], "--force", "--grace-period=0")


def stop_redis(site):
    processes.send(processes.REDIS, signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    processes.send(processes.REDIS, signal.SIGCONT)


def kill_redis(site):
    processes.send(processes.REDIS, signal.SIGKILL)
    site.rolled_out("stores", "redis")


@pytest.mark.parametrize("fault", [kill_a_process, delete_a_pod_by_force], ids=lambda each: each.__name__)
async def test_only_connections_to_the_killed_pod_fail(fault, site, caller, shown, ledgers):
    load = await _under_load(caller, site, fault, shown, ledgers)
    assert set(load.statuses) <= {0, 200}
    assert len(load.failures) < load.statuses.total() / 20


@pytest.mark.parametrize("fault", [stop_redis, kill_redis], ids=lambda each: each.__name__)
async def test_without_redis_requests_are_refused_in_time(fault, site, caller, shown, ledgers):
    load = await _under_load(caller, site, fault, shown, ledgers)
    assert load.failures
    assert [failure for failure in load.failures if not failure.startswith("503 ")] == []
    assert set(load.statuses) == {200, 503}
    assert load.slowest_seconds < DEADLINE_SECONDS
