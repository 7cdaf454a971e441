"""Every combination of manifests renders offline, fits Kubernetes' schemas and complies with the policy."""

import kubernetes_validate
import pytest
import yaml

from gateway import __version__
from tests.support.kustomize import render
from tests.system.deploy.installations import (
    COMPONENTS,
    DEPLOY,
    INSTALLATIONS,
    Installation,
    included,
)
from tests.system.deploy.policy import broken_rules
from tests.system.deploy.policy.manifests import Manifests
from tests.system.deploy.policy.pods import (
    containers_have_few_rights,
    images_are_pinned,
    pods_have_few_rights,
)

OLDEST = "1.30"  # first version that supports `preStop.sleep`
EXAMPLES = sorted(folder.name for folder in (DEPLOY / "examples").iterdir())
CUSTOM = {
    *("Certificate", "PodMonitor", "PrometheusRule", "ScaledObject"),
    *("ExternalSecret", "Gateway", "HTTPRoute"),
}
"""Kinds that operators define; covered by test_custom_resources.py."""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    known = {}

    def objects(installation: Installation):
        if str(installation) not in known:
            known[str(installation)] = installation.render(tmp_path_factory.mktemp("manifests"))
        return known[str(installation)]

    return objects


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_every_object_fits_the_schema(installation, version, rendered):
    for each in rendered(installation):
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_every_object_of_an_example_fits_the_schema(example, version):
    for each in render(DEPLOY / "examples" / example):
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(each, version, strict=True)


def test_the_pods_of_the_example_have_few_rights():
    manifests = Manifests(render(DEPLOY / "examples" / "workload"))
    rules = (pods_have_few_rights, containers_have_few_rights, images_are_pinned)
    assert [complaint for rule in rules for complaint in rule(manifests)] == []


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
def test_an_installation_complies_with_the_policy(installation, rendered):
    assert broken_rules(rendered(installation)) == {}


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
def test_all_objects_are_in_one_namespace(installation, rendered):
    assert {each["metadata"].get("namespace") for each in rendered(installation)} == {"kvs-gateway"}


def test_every_component_is_in_an_installation():
    rendered = {each for one in INSTALLATIONS for each in (*one.components, *included(one.overlay))}
    assert rendered == set(COMPONENTS)


@pytest.mark.parametrize("overlay", ["memory", "redis"])
def test_a_changed_configuration_gets_a_new_name_in_the_pods(overlay, rendered, tmp_path):
    before = Manifests(rendered(Installation(overlay)))
    Installation(overlay).render(tmp_path)
    file = tmp_path / "deploy/overlays" / overlay / "config.yaml"
    file.write_text(file.read_text() + "logging: {level: debug}\n")
    after = Manifests(render(tmp_path / "deploy/own"))
    assert before.volumes["config"] != after.volumes["config"]
    assert after.config["logging"] == {"level": "debug"}


def test_the_same_configuration_rolls_nothing(rendered, tmp_path):
    installation = Installation("redis")
    assert rendered(installation) == installation.render(tmp_path)


def test_irsa_needs_a_role_that_the_operator_has_to_fill_in(rendered):
    account = Manifests(rendered(Installation("dynamodb-irsa"))).named("ServiceAccount", "kvs-gateway")
    role = account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
    assert role.startswith("arn:aws:iam::123456789012:role/REPLACE-")


def test_pod_identity_needs_no_annotation_of_the_account(rendered):
    account = Manifests(rendered(Installation("dynamodb-pod-identity"))).named(
        "ServiceAccount", "kvs-gateway"
    )
    assert "annotations" not in account["metadata"]


def test_the_image_is_of_this_version(rendered):
    image = Manifests(rendered(Installation("redis"))).container["image"]
    assert image.rpartition(":")[2] == __version__


@pytest.mark.parametrize(
    "folder",
    ["base", *(f"components/{component}" for component in COMPONENTS if component != "monitoring")],
)
def test_every_file_is_used_by_a_kustomization(folder):
    files = {file.name for file in (DEPLOY / folder).iterdir()} - {"kustomization.yaml", "config.yaml"}
    kustomization = yaml.safe_load((DEPLOY / folder / "kustomization.yaml").read_text())
    assert files == set(kustomization.get("resources", []))
