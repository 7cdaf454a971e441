"""Liveness and readiness."""

import pytest

from backends import MemorySettings, open_backend
from backends.errors import BackendMisconfigured
from gateway.opsplane.health import Health, Status
from tests.support.gateway import Gateway, run_gateway
from tests.support.stores import Faults, FaultyBackend

ALL_UP = {"store": "up", "counters": "up", "directory": "up"}
ALL_DOWN = dict.fromkeys(ALL_UP, "down")


def dead() -> Faults:
    """Faults of stores that cannot be reached."""
    faults = Faults()
    faults.fail = {"*"}
    return faults


async def ready(gateway: Gateway, *fail: str) -> tuple[int, dict]:
    """Returns the answer of `/readyz` after a check during which these operations fail."""
    gateway.faults.fail = set(fail)
    await gateway.app.ops.health.check()
    reply = await gateway.ask_ops("/readyz")
    return reply.status, reply.json


async def test_a_replica_that_reached_its_stores_is_ready(gateway):
    assert await ready(gateway) == (200, {"status": "ready", "dependencies": ALL_UP})


async def test_a_replica_that_never_reached_its_stores_is_starting():
    async with run_gateway(faults=dead()) as gateway:
        assert await ready(gateway, "*") == (503, {"status": "starting", "dependencies": ALL_DOWN})


async def test_a_store_that_was_never_reached_is_reported_as_down(caplog):
    async with run_gateway(faults=dead()) as gateway:
        await gateway.app.ops.health.check()
    lines = [record for record in caplog.records if record.message == "dependency is down"]
    assert {line.fields["dependency"] for line in lines} == set(ALL_UP)
    assert {line.fields["reason"] for line in lines} == {"injected"}


async def test_a_replica_is_ready_once_its_stores_were_reached():
    async with run_gateway(faults=dead()) as gateway:
        assert (await ready(gateway, "*"))[0] == 503
        assert await ready(gateway) == (200, {"status": "ready", "dependencies": ALL_UP})


async def test_a_later_outage_is_reported_and_keeps_the_replica_ready(gateway):
    await ready(gateway)
    assert await ready(gateway, "ping") == (200, {"status": "ready", "dependencies": ALL_DOWN})
    assert await ready(gateway) == (200, {"status": "ready", "dependencies": ALL_UP})


async def test_strictly_a_later_outage_takes_the_replica_out_of_service():
    async with run_gateway({"readiness": "strict"}) as gateway:
        assert (await ready(gateway))[0] == 200
        status, body = await ready(gateway, "ping")
        assert status == 503
        assert body["dependencies"] == ALL_DOWN
        assert body["status"] != "ready"
        assert (await ready(gateway))[0] == 200


@pytest.mark.parametrize("readiness", ["reached_once", "strict"])
async def test_a_draining_replica_is_not_ready(readiness):
    async with run_gateway({"readiness": readiness}) as gateway:
        await ready(gateway)
        gateway.app.drain.begin()
        assert await ready(gateway) == (503, {"status": "draining", "dependencies": ALL_UP})


async def test_a_misconfigured_store_is_down(gateway):
    gateway.faults.error = BackendMisconfigured
    assert (await ready(gateway, "ping"))[1]["dependencies"] == ALL_DOWN


async def test_liveness_depends_on_no_store():
    async with run_gateway({"readiness": "strict"}, faults=dead()) as gateway:
        reply = await gateway.ask_ops("/livez")
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/json"


async def test_a_draining_replica_is_alive(gateway):
    gateway.app.drain.begin()
    assert (await gateway.ask_ops("/livez")).status == 200


async def test_an_unready_replica_still_shows_its_metrics():
    async with run_gateway(faults=dead()) as gateway:
        assert (await gateway.ask_ops("/metrics")).status == 200


async def test_the_ops_listener_serves_nothing_else(gateway):
    reply = await gateway.ask_ops("/v1/get")
    assert (reply.status, reply.error) == (404, "not_found")


async def test_probes_are_asked_with_get(gateway):
    reply = await gateway.ask_ops("/readyz", "POST")
    assert (reply.status, reply.error) == (405, "method_not_allowed")
    assert "GET" in reply.headers["Allow"]


async def test_calls_are_not_served_by_readiness(gateway):
    """A replica that is called though it is not ready answers as well as it can."""
    gateway.app.drain.begin()
    assert (await gateway.get("k")).status == 200


class TestTwoStores:
    """Counters that live apart from the data."""

    async def _health(self, clock, *, strict: bool) -> tuple[Health, Faults, Faults]:
        store, counters = Faults(), Faults()
        of_store = FaultyBackend(await open_backend(MemorySettings(), clock), store)
        of_counters = FaultyBackend(await open_backend(MemorySettings(), clock), counters)
        dependencies = {"store": of_store, "counters": of_counters, "directory": of_store}
        return Health(dependencies, strict=strict, is_draining=lambda: False), store, counters

    async def test_each_is_reported_by_itself(self, clock):
        health, _, counters = await self._health(clock, strict=False)
        counters.fail = {"ping"}
        await health.check()
        assert health.dependencies() == {"store": True, "counters": False, "directory": True}

    async def test_a_replica_is_not_ready_before_both_were_reached(self, clock):
        health, _, counters = await self._health(clock, strict=False)
        counters.fail = {"ping"}
        await health.check()
        assert health.status is Status.STARTING

    async def test_each_store_is_asked_once_a_round(self, clock):
        health, store, counters = await self._health(clock, strict=True)
        await health.check()
        assert (store.count("ping"), counters.count("ping")) == (1, 1)
        assert health.status is Status.READY
