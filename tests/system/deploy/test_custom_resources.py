"""Custom resources fit the schemas of the operators that read them, in every installation and example."""

from typing import Any

import pytest

from tests.support.kustomize import render
from tests.support.schemas import defaults_added_to, faults_of
from tests.system.deploy.installations import DEPLOY, Installation
from tests.system.deploy.test_manifests import CUSTOM, EXAMPLES

ALL = [Installation("redis", ("autoscaling-in-flight", "control", "credentials", "monitoring"))]


@pytest.fixture(scope="module")
def resources(tmp_path_factory) -> list[dict[str, Any]]:
    objects = [each for one in ALL for each in one.render(tmp_path_factory.mktemp("rendered"))]
    objects += [each for example in EXAMPLES for each in render(DEPLOY / "examples" / example)]
    return [each for each in objects if each["kind"] in CUSTOM]


def test_every_custom_kind_is_in_some_installation(resources):
    assert {each["kind"] for each in resources} == CUSTOM


@pytest.mark.parametrize("kind", sorted(CUSTOM))
def test_a_custom_resource_fits_the_schema_of_its_operator(kind, resources):
    found = {each["metadata"]["name"]: faults_of(each) for each in resources if each["kind"] == kind}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize("kind", sorted(CUSTOM))
def test_no_default_is_left_for_the_server_to_add(kind, resources):
    """kubectl replaces lists in custom resources as a whole, so an added default is a difference."""
    found = {each["metadata"]["name"]: defaults_added_to(each) for each in resources if each["kind"] == kind}
    assert {name: added for name, added in found.items() if added} == {}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("PodMonitor", ("spec", "podMetricsEndpoints", 0, "intervall"), "15s"),
        ("HTTPRoute", ("spec", "rules", 0, "matches", 0, "path", "type"), "Begins"),
        ("ExternalSecret", ("spec", "data", 0, "remoteRef"), {}),
        ("Certificate", ("spec", "issuerRef"), "private-authority"),
    ],
)
def test_a_resource_that_does_not_fit_its_schema_is_reported(kind, path, value, resources):
    resource = next(each for each in resources if each["kind"] == kind)
    *way, last = path
    place = resource
    for step in way:
        place = place[step]
    before = place.get(last)
    place[last] = value
    try:
        assert faults_of(resource)
    finally:
        if before is None:
            del place[last]
        else:
            place[last] = before
