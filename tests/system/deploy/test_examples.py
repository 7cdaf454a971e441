"""The examples fit the installation and do not change what callers sign."""

import re
from typing import Any

import pytest

from gateway.config.settings import EdgeSettings
from gateway.domain.rules import Limits
from tests.support.kustomize import render
from tests.system.deploy.installations import DEPLOY, Installation
from tests.system.deploy.policy.configuration import secret_files
from tests.system.deploy.policy.manifests import Manifests

WAYS_IN = ("gateway-api", "ingress-nginx")
REWRITES = re.compile(
    r"rewrite|regex|vhost|app-root|snippet|redirect|auth|header|temporal|permanent|canary|mirror"
)
SLOWEST_ANSWER_SECONDS = EdgeSettings().body_seconds + 5  # a slow body, then a slow store


def example(name: str) -> Manifests:
    return Manifests(render(DEPLOY / "examples" / name))


def annotations() -> dict[str, str]:
    return example("ingress-nginx").named("Ingress", "kvs-gateway")["metadata"]["annotations"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Manifests:
    return Manifests(Installation("redis").render(tmp_path_factory.mktemp("installed")))


@pytest.mark.parametrize("name", [*WAYS_IN, "external-secret"])
def test_an_example_is_in_the_namespace_of_the_gateway(name):
    assert {each["metadata"]["namespace"] for each in example(name).objects} == {"kvs-gateway"}


def test_an_ingress_routes_only_to_the_data_port(installed):
    (rule,) = example("ingress-nginx").named("Ingress", "kvs-gateway")["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert (path["path"], path["pathType"]) == ("/v1/", "Prefix")
    service = installed.named("Service", path["backend"]["service"]["name"])
    assert path["backend"]["service"]["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}
    assert rule["host"] in installed.config["public_hosts"]


def test_an_ingress_rewrites_nothing():
    found = {name: value for name, value in annotations().items() if REWRITES.search(name)}
    assert set(found.values()) == {"false"}, found


@pytest.mark.parametrize(
    "name", ["nginx.ingress.kubernetes.io/proxy-body-size", "nginx.org/client-max-body-size"]
)
def test_an_ingress_lets_the_gateway_refuse_long_bodies(name):
    assert annotations()[name] == "1m"
    assert Limits().body_bytes < 2**20


@pytest.mark.parametrize("kind", ["read", "send"])
def test_an_ingress_waits_for_the_slowest_answer(kind):
    seconds = annotations()[f"nginx.ingress.kubernetes.io/proxy-{kind}-timeout"]
    assert int(seconds) > SLOWEST_ANSWER_SECONDS
    assert annotations()[f"nginx.org/proxy-{kind}-timeout"] == f"{seconds}s"


def test_an_ingress_retries_no_request_that_a_pod_may_have_received():
    for controller in ("nginx.ingress.kubernetes.io", "nginx.org"):
        assert annotations()[f"{controller}/proxy-next-upstream"] == "error"


def test_a_route_leads_only_to_the_data_port(installed):
    route = example("gateway-api").named("HTTPRoute", "kvs-gateway")["spec"]
    (rule,) = route["rules"]
    (backend,) = rule["backendRefs"]
    service = installed.named("Service", backend["name"])
    assert backend["port"] in {port["port"] for port in service["spec"]["ports"]}
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/v1"}}]
    assert set(route["hostnames"]) <= set(installed.config["public_hosts"])


def test_a_route_has_no_filters():
    (rule,) = example("gateway-api").named("HTTPRoute", "kvs-gateway")["spec"]["rules"]
    assert "filters" not in rule
    assert all("filters" not in backend for backend in rule["backendRefs"])
    assert int(rule["timeouts"]["request"].removesuffix("s")) > SLOWEST_ANSWER_SECONDS


def test_a_route_attaches_to_the_tls_listener():
    manifests = example("gateway-api")
    (listener,) = manifests.named("Gateway", "kvs-gateway")["spec"]["listeners"]
    (parent,) = manifests.named("HTTPRoute", "kvs-gateway")["spec"]["parentRefs"]
    assert (parent["name"], parent["sectionName"]) == ("kvs-gateway", listener["name"])
    assert (listener["protocol"], listener["tls"]["mode"]) == ("HTTPS", "Terminate")
    assert listener["hostname"] in manifests.named("HTTPRoute", "kvs-gateway")["spec"]["hostnames"]


@pytest.mark.parametrize("name", WAYS_IN)
def test_the_issued_certificate_is_the_presented_one(name, installed):
    manifests = example(name)
    (certificate,) = manifests.of("Certificate")
    assert certificate["spec"]["dnsNames"] == installed.config["public_hosts"]
    assert certificate["spec"]["secretName"] == shown_by(manifests)
    assert certificate["spec"]["privateKey"]["rotationPolicy"] == "Always"


def shown_by(manifests: Manifests) -> Any:
    if ingress := manifests.named("Ingress", "kvs-gateway"):
        return ingress["spec"]["tls"][0]["secretName"]
    return manifests.named("Gateway", "kvs-gateway")["spec"]["listeners"][0]["tls"]["certificateRefs"][0][
        "name"
    ]


def test_an_external_secret_has_every_file_that_is_read(installed):
    secret = example("external-secret").named("ExternalSecret", "kvs-gateway")["spec"]
    assert secret["target"]["name"] == installed.volumes["secrets"]["secret"]["secretName"]
    read = {file.rpartition("/")[2] for file in secret_files(installed.config)}
    assert {each["secretKey"] for each in secret["data"]} == read
