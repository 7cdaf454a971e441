"""What the chart renders fits Kubernetes' schemas and keeps to the policy; its configuration is accepted."""

import kubernetes_validate
import pytest
import yaml

from tests.project.chart import CHART
from tests.support.config import merged
from tests.support.helm import render
from tests.system.deploy.chart.releases import rendered, values_of
from tests.system.deploy.installations import INSTALLATIONS, Installation
from tests.system.deploy.mounts import mount_rendered
from tests.system.deploy.policy import broken_rules
from tests.system.deploy.policy.configuration import a_change_of_the_configuration_rolls_the_pods
from tests.system.deploy.policy.manifests import Manifests
from tests.system.deploy.test_configurations import check
from tests.system.deploy.test_manifests import CUSTOM, OLDEST

REDIS = Installation("redis", ("network-policy",))
CREDENTIALS = Installation("redis", ("network-policy", "credentials"))
CUSTOM_HERE = CUSTOM | {"HTTPRoute"}
VARIANTS = {
    "ingress": {"ingress": {"enabled": True, "tlsSecretName": "kvs-tls", "annotations": {"a": "b"}}},
    "route": {"httpRoute": {"enabled": True, "parentRefs": [{"name": "public", "namespace": "gateways"}]}},
    "digest": {"image": {"digest": f"sha256:{64 * '0'}", "pullSecrets": ["registry"]}},
    "small": {"resources": {"requests": {"cpu": "100m"}}, "replicas": 1},
    "labels": {"commonLabels": {"team": "kv"}, "podLabels": {"tier": "edge"}, "podAnnotations": {"a": "b"}},
    "nodes": {
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "priorityClassName": "high",
        "spreadOver": [],
    },
    "data over TLS": {
        "config": {"listen": {"data": {"tls": {"certificate": "/tls/tls.crt", "key": "/tls/tls.key"}}}},
        "service": {"port": 443},
        "extraVolumes": [{"name": "data-tls", "secret": {"secretName": "data-tls"}}],
        "extraVolumeMounts": [{"name": "data-tls", "mountPath": "/tls", "readOnly": True}],
        "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    },
    "longer end": {"config": {"shutdown": {"grace_seconds": 60.5}}, "preStopSeconds": 20},
    "variables": {
        "config": {"limits": {"value_bytes": "${VALUE_BYTES}"}},
        "extraEnv": [{"name": "VALUE_BYTES", "value": "1024"}],
    },
    "own account": {"serviceAccount": {"create": False, "name": "shared"}},
    "other names": {"fullnameOverride": "kvs", "secretName": "kvs-secrets"},
    "redis elsewhere": {"networkPolicy": {"redis": {"cidrs": ["203.0.113.7/32"], "ports": [6380]}}},
    "no budget": {"podDisruptionBudget": {"enabled": False}},
    "IPv6": {"host": "::"},
}


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
def test_an_installation_keeps_to_the_policy(installation):
    broken = broken_rules(rendered(installation))
    by_name = a_change_of_the_configuration_rolls_the_pods.__name__  # here a checksum does that
    assert broken.keys() == {by_name}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_every_object_fits_the_schema(changes, version):
    for each in rendered(REDIS, **changes):
        if each["kind"] not in CUSTOM_HERE:
            kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
def test_every_object_of_an_installation_fits_the_schema(installation):
    for each in rendered(installation):
        if each["kind"] not in CUSTOM_HERE:
            kubernetes_validate.validate(each, OLDEST, strict=True)


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
def test_the_configuration_is_accepted_with_the_files_that_pods_mount(installation, tmp_path):
    done = check(mount_rendered(Manifests(rendered(installation)), tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_all_objects_are_in_one_namespace_and_have_the_labels_of_the_release(changes):
    for each in rendered(REDIS, **changes):
        assert each["metadata"]["namespace"] == "kvs-gateway"
        assert each["metadata"]["labels"]["app.kubernetes.io/instance"] == "kvs-gateway"


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"logging": {"level": "debug"}}},
        {"files": {"jwks.json": '{"keys": [{}]}'}},
        {"networkPolicy": {"enabled": True}, "control": {"enabled": True}},
    ],
    ids=["config", "files", "listener"],
)
def test_a_change_of_the_configuration_rolls_the_pods(changes):
    assert _template(rendered(CREDENTIALS)) != _template(rendered(CREDENTIALS, **changes))


@pytest.mark.parametrize(
    "changes",
    [{"commonLabels": {}}, {"replicas": 5}, {"service": {"annotations": {"a": "b"}}}],
    ids=["nothing", "replicas", "service"],
)
def test_a_change_of_something_else_rolls_nothing(changes):
    assert _template(rendered(CREDENTIALS)) == _template(rendered(CREDENTIALS, **changes))


def _template(objects):
    return Manifests(objects).deployment["spec"]["template"]


def test_the_time_to_end_follows_the_grace():
    pod = Manifests(rendered(REDIS, **VARIANTS["longer end"])).pod
    assert pod["terminationGracePeriodSeconds"] == 20 + 61 + 20


def test_two_releases_in_one_namespace_have_nothing_in_common():
    names, selectors = [], []
    for release in ("kvs-gateway", "kvs-gateway-blue"):
        objects = render(CHART, values_of(REDIS), "--name-template", release)
        names.append({(each["kind"], each["metadata"]["name"]) for each in objects})
        selectors.append(Manifests(objects).deployment["spec"]["selector"])
    assert not names[0] & names[1]
    assert selectors[0] != selectors[1]


def test_an_existing_certificate_takes_the_place_of_the_one_of_cert_manager():
    own = {"credentials": {"secretName": "own-tls"}, "certificates": {"issuerRef": {"name": ""}}}
    manifests = Manifests(rendered(CREDENTIALS, **own))
    assert not manifests.of("Certificate")
    assert manifests.volumes["credentials-tls"]["secret"]["secretName"] == "own-tls"


def test_routes_lead_the_public_hosts_to_the_data_port():
    changes = merged(VARIANTS["ingress"], VARIANTS["route"])
    changes["config"] = {"public_hosts": ["kvs.example.com", "kvs.example.com:8443", "other.example.com"]}
    manifests = Manifests(rendered(REDIS, **changes))
    hosts = ["kvs.example.com", "other.example.com"]
    (ingress,) = manifests.of("Ingress")
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == hosts == ingress["spec"]["tls"][0]["hosts"]
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert backend == {"name": "kvs-gateway", "port": {"name": "data"}}
    (route,) = manifests.of("HTTPRoute")
    assert route["spec"]["hostnames"] == hosts
    assert route["spec"]["rules"][0]["backendRefs"] == [{"name": "kvs-gateway", "port": 80}]


def test_alerts_link_to_the_runbook_that_is_given():
    objects = rendered(REDIS, monitoring={"enabled": True, "runbookUrl": "https://wiki/kvs"})
    (alerts,) = [each for each in objects if each["metadata"]["name"] == "kvs-gateway-alerts"]
    text = yaml.safe_dump(alerts)
    assert "https://wiki/kvs#kvsnoreplica" in text
    assert "git.example.com" not in text


def test_what_selects_monitoring_finds_it():
    objects = rendered(REDIS, monitoring={"enabled": True, "labels": {"release": "prometheus"}})
    for each in objects:
        labelled = each["metadata"]["labels"].get("release") == "prometheus"
        assert labelled == (each["kind"] in {"PodMonitor", "PrometheusRule"})
