"""The chart on a real API server, by its README: installed, upgraded and rolled back under load."""

import asyncio
import json

import pytest
import yaml

from lab.cluster import my_gateway
from lab.cluster.deployed import DEPLOYMENT
from lab.cluster.load import Load
from lab.cluster.site import Site
from tests.support.config import merged
from tests.support.helm import helm
from tests.system.deploy.chart.guide import GUIDE, VALUES
from tests.system.deploy.guide import marked

NAMESPACE = "by-helm"
LEAST_ANSWERED = 1_000


@pytest.fixture(scope="module")
def release(node, site):
    """In a namespace of its own, which ends with the proofs; Redis is the one that is there."""
    release = Site(node, NAMESPACE, database=1)
    release.prepare()
    release.shell.offer("helm", helm(), f"--kubeconfig={node.kubectl.kubeconfig}")
    write_values(release, {})
    release.shell(release.script(marked("install", GUIDE)))
    yield release
    node.kubectl("delete", "namespace", NAMESPACE)


def write_values(release, changed):
    """Values of the README with its placeholders filled in, as small as components/small."""
    mine = {
        "image": {"repository": my_gateway.IMAGE, "digest": release.publish("now")},
        "config": merged(my_gateway.HERE, changed),
        "replicas": 2,
        "resources": {"requests": {"cpu": "100m", "memory": "96Mi"}},
    }
    (release.folder / "my-values.yaml").write_text(yaml.safe_dump(merged(VALUES, mine)))


async def test_no_request_fails_while_helm_upgrades_a_release_and_rolls_it_back(release, shown):
    caller = release.caller("chart", "entries")
    installed = release.here_get(DEPLOYMENT)["spec"]["template"]
    write_values(release, {"logging": {"access": 0.01}})
    async with Load(caller, kept=6, fresh=6, name="helm") as load:
        await asyncio.to_thread(release.shell, release.script(marked("change and undo", GUIDE)))
        await asyncio.to_thread(release.settled, 2)
    load.show(shown)
    assert load.failures == load.wrong == []
    assert load.answered > LEAST_ANSWERED
    assert release.here_get(DEPLOYMENT)["spec"]["template"] == installed
    history = release.shell(f"helm history kvs-gateway --namespace {NAMESPACE} --output json")
    described = [each["description"] for each in json.loads(history)]
    assert described == ["Install complete", "Upgrade complete", "Rollback to 1"]
    shown.seen.append(", ".join(described))
