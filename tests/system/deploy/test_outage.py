"""Alerts in a real Prometheus begin and end with real faults.

Here an alert has begun when its condition holds; the unit tests of the rules cover how long it must hold.
"""

import asyncio
from collections.abc import Iterable

import pytest

from tests.support.load import client_of
from tests.support.servers import wait_for
from tests.system.deploy.monitoring import rules
from tests.system.deploy.scraped import Scene, scene_in

OF_THE_MACHINE = {"KvsSlow", "KvsLoopSaturated"}  # they depend on the load of the test machine


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    with scene_in(tmp_path_factory.mktemp("outage")) as scene:
        yield scene


def begun(scene: Scene) -> set[str]:
    """Returns the names of pending and firing alerts."""
    return {rule["name"] for rule in scene.prometheus.rules() if rule.get("state") in ("pending", "firing")}


def wait_until_begun(scene: Scene, alerts: Iterable[str]) -> None:
    wanted = set(alerts)
    wait_for(lambda: wanted <= begun(scene), f"{wanted} do not begin", 30)


def wait_until_over(scene: Scene, alerts: Iterable[str]) -> None:
    wanted = set(alerts)
    wait_for(lambda: not wanted & begun(scene), f"{wanted} do not end", 30)


async def call_often(scene: Scene) -> None:
    async with client_of(scene.gateway) as gateway:
        for _ in range(50):
            await gateway.put("k", "value")


def test_no_alert_fires_for_a_serving_gateway(scene):
    asyncio.run(call_often(scene))
    wait_for(lambda: scene.prometheus.query("kvs:usage_requests:rate5m > 0"), "the calls are not seen")
    wait_until_over(scene, rules("alert").keys() - OF_THE_MACHINE)


def test_an_alert_fires_while_redis_is_down(scene):
    scene.redis.kill()
    asyncio.run(call_often(scene))
    wait_until_begun(scene, ["KvsDependencyDown", "KvsLimiterErrors", "KvsErrorBudgetBurnsFast"])
    scene.redis.start()
    wait_until_over(scene, ["KvsDependencyDown"])


def test_an_alert_fires_while_the_configuration_is_broken(scene):
    file = scene.gateway.log.with_name("config.yaml")
    right = file.read_text()
    file.write_text("region: [")
    wait_until_begun(scene, ["KvsReloadFailed"])
    file.write_text(right)
    wait_until_over(scene, ["KvsReloadFailed"])


def test_an_alert_fires_when_a_gateway_disappears(scene):
    scene.gateway.process.kill()
    wait_until_begun(scene, ["KvsNoReplica", "KvsScrapeMissing"])
