"""Operators and the cluster disturb running pods under load through the Service: no request fails.

The control at the end takes away what prevents failures. If it does not fail, the others have proved nothing.
"""

import asyncio
import json
import time

import pytest

from lab.cluster.deployed import DEPLOYMENT, PODS, is_ready
from lab.cluster.load import Load
from lab.cluster.site import NAMESPACE

LEAST_ANSWERED = 1_000
LEAST_REPLICAS = 3
"""Replicas that the autoscaler keeps at any load."""

CONTROLS = 3
WITHOUT_PRE_STOP = [{"op": "remove", "path": "/spec/template/spec/containers/0/lifecycle"}]


@pytest.fixture(scope="module")
def caller(site):
    """Two replicas, and nobody but the proofs changes their number."""
    site.with_replicas(2)
    return site.caller("load", "entries")


@pytest.fixture(scope="module")
def ledger(ledgers):
    return ledgers.of("load", "entries")


def restart(site):
    for _ in range(2):
        site.here("rollout", "restart", DEPLOYMENT)
        site.rolled_out()


def change_the_configuration(site):
    site.write("now", {"logging": {"access": 0.01}})
    site.apply()


def undo(site):
    site.here("rollout", "undo", DEPLOYMENT)
    site.rolled_out()


def roll_out_an_image_that_is_not_there(site):
    site.here("set", "image", DEPLOYMENT, "gateway=registry.internal/kvs-gateway:missing")
    site.until(lambda: any(_waits_for_an_image(pod) for pod in site.pods()))
    assert sum(map(is_ready, site.pods())) == 2
    undo(site)


def _waits_for_an_image(pod):
    states = [each["state"].get("waiting", {}) for each in pod["status"].get("containerStatuses", [])]
    return any(state.get("reason") in {"ErrImagePull", "ImagePullBackOff"} for state in states)


def delete_a_pod(site):
    site.here("delete", "pod", site.pods()[0]["metadata"]["name"], "--wait=false")
    site.settled(2)


def delete_all_pods_at_once(site):
    site.here("delete", "pod", f"--selector={PODS}", "--wait=false")
    site.settled(2)


def scale_from_two_to_four_and_back(site):
    for replicas in (4, 2):
        site.here("scale", DEPLOYMENT, f"--replicas={replicas}")
        site.settled(replicas)


def evict_all_pods_one_by_one(site):
    """As a drain of their node would: the budget lets one go at a time."""
    refused = 0
    for name in [pod["metadata"]["name"] for pod in site.pods()]:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": NAMESPACE},
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction"

        def evicted(path=path, eviction=eviction):
            try:
                site.kubectl("create", "--raw", path, "-f", "-", text=json.dumps(eviction))
            except RuntimeError as error:
                if "disruption budget" not in str(error):
                    raise
                return False
            return True

        while not evicted():
            refused += 1
            time.sleep(0.5)
    site.settled(2)
    assert refused, "the budget has let both go at once"


DISTURBANCES = [
    restart,
    change_the_configuration,
    undo,
    roll_out_an_image_that_is_not_there,
    delete_a_pod,
    delete_all_pods_at_once,
    scale_from_two_to_four_and_back,
    evict_all_pods_one_by_one,
]

LEAVE_THE_SAME_PODS = {roll_out_an_image_that_is_not_there, scale_from_two_to_four_and_back}


@pytest.mark.parametrize("disturb", DISTURBANCES, ids=lambda each: each.__name__)
async def test_no_request_fails(disturb, site, caller, ledger, shown):
    before = {pod["metadata"]["uid"] for pod in site.pods()}
    async with Load(caller, name=disturb.__name__) as load:
        await asyncio.to_thread(disturb, site)
        await asyncio.to_thread(site.settled, 2)
    ledger.add(load)
    load.show(shown)
    assert load.failures == []
    assert load.wrong == []
    assert load.answered > LEAST_ANSWERED
    if disturb not in LEAVE_THE_SAME_PODS:
        assert before != {pod["metadata"]["uid"] for pod in site.pods()}, "nothing has happened"


async def test_no_request_fails_while_the_autoscaler_adds_replicas_and_removes_them(
    site, caller, ledger, shown
):
    """Scales by CPU; the wait before replicas are removed is shortened from five minutes."""
    file = site.folder / "deploy" / "components" / "autoscaling" / "horizontalpodautoscaler.yaml"
    text = file.read_text().replace("stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 10")
    async with Load(caller, name="autoscaler", kept=4, fresh=4) as load:
        await asyncio.to_thread(site.here, "apply", "-f", "-", text=text)
        async with Load(caller, name="more", kept=16, fresh=8) as more:
            await asyncio.to_thread(site.until, lambda: len(site.pods()) > LEAST_REPLICAS, 180)
            most = len(site.pods())
        await asyncio.to_thread(site.until, lambda: len(site.pods()) < most, 180)
        await asyncio.to_thread(site.with_replicas, 2)
    for each in (load, more):
        ledger.add(each)
        each.show(shown)
    shown.seen.append(f"2 to at least {most} pods and back")
    assert load.failures == more.failures == []
    assert load.wrong == more.wrong == []


async def test_without_pre_stop_and_drain_requests_fail(site, shown):
    """The control."""
    caller = site.caller("control", "entries")
    site.write("now", {"shutdown": {"drain_seconds": 0, "grace_seconds": 0}}, patches=[WITHOUT_PRE_STOP])
    site.apply()
    site.settled(2)
    try:
        for attempt in range(CONTROLS):
            async with Load(caller, name=f"control {attempt}") as load:
                await asyncio.to_thread(restart, site)
                await asyncio.to_thread(site.settled, 2)
            load.show(shown)
            if load.failures:
                break
    finally:
        site.write("now")
        site.apply()
    assert load.failures
    assert load.wrong == []
