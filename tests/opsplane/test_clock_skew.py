"""Clock skew between a replica and its stores is exposed if the store has a clock."""

import pytest

from backends import DynamoSettings, RedisSettings, open_backend
from backends.clock import SystemClock
from tests.backends.dynamodb.conformance import new_table
from tests.support.dynamodb import ENVIRONMENT, Ministack
from tests.support.gateway import run_gateway
from tests.support.redis import RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.stores import first_answer
from tests.support.wire import until


class ShiftedClock(SystemClock):
    """The machine's, ahead by so much."""

    def __init__(self, seconds: float) -> None:
        self._ahead_ms = round(seconds * 1000)

    def wall_ms(self) -> int:
        return super().wall_ms() + self._ahead_ms


@pytest.fixture(scope="module")
def server():
    with deadlines_of(), RedisServer() as server:
        yield server


async def lead_of(settings, clock) -> float | None:
    store = await open_backend(settings, clock)
    try:
        await first_answer(store)
        return store.clock_lead_seconds
    finally:
        await store.close()


@pytest.mark.parametrize("seconds", [0.0, 5.0, -3.5])
async def test_redis_skew_is_measured_to_the_millisecond(server, seconds):
    lead = await lead_of(RedisSettings(url=server.url), ShiftedClock(seconds))
    assert lead == pytest.approx(seconds, abs=0.25)


async def test_a_redis_user_without_the_right_to_time_is_served_without_skew(server):
    server.command("ACL", "SETUSER", "hasty", "reset", "on", ">secret", "~*", "+@all", "-time")
    assert (
        await lead_of(RedisSettings(url=f"redis://hasty:secret@127.0.0.1:{server.port}"), SystemClock())
        is None
    )


@pytest.mark.parametrize("seconds", [0.0, 30.0, -30.0])
async def test_dynamodb_skew_is_measured_to_the_second(monkeypatch, seconds):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    settings = DynamoSettings(
        table=new_table(),
        region="eu-central-1",
        endpoint_url=Ministack.shared().endpoint_url,
        create_table=True,
    )
    lead = await lead_of(settings, ShiftedClock(seconds))
    assert lead == pytest.approx(seconds, abs=2.0)


async def test_a_gateway_shows_the_skew_of_each_dependency_that_is_up(server):
    store = {"kind": "redis", "url": server.url}
    async with run_gateway({"store": store}, clock=ShiftedClock(5)) as gateway:
        await until(lambda: gateway.app.ops.health.status == "ready")
        metrics = await gateway.metrics()
        for dependency in ("store", "counters", "directory"):
            skew = metrics[f'kvs_clock_skew_seconds{{dependency="{dependency}"}}']
            assert skew == pytest.approx(5, abs=0.25)
        gateway.faults.fail = {"ping"}
        await gateway.app.ops.health.check()
        assert not [series for series in await gateway.metrics() if series.startswith("kvs_clock_skew")]


async def test_memory_has_no_clock_of_its_own(gateway):
    assert not [series for series in await gateway.metrics() if series.startswith("kvs_clock_skew")]


async def test_a_replica_shows_that_it_drains_and_how_many_connections_it_has(gateway):
    _, writer = await gateway.connect()
    await gateway.get("k")
    metrics = await gateway.metrics()
    assert (metrics["kvs_draining"], metrics["kvs_connections"]) == (0, 2)
    writer.close()
    gateway.app.drain.begin()
    assert (await gateway.metrics())["kvs_draining"] == 1
