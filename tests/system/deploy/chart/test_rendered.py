"""Objects of the chart fit Kubernetes' schemas and the policy; the gateway accepts the configuration."""

import kubernetes_validate
import pytest

from tests.support.schemas import faults_of
from tests.system.deploy.chart.releases import rendered
from tests.system.deploy.installations import INSTALLATIONS, Installation
from tests.system.deploy.mounts import mount_rendered
from tests.system.deploy.policy import broken_rules
from tests.system.deploy.policy.configuration import a_changed_configuration_rolls_the_pods
from tests.system.deploy.policy.manifests import Manifests
from tests.system.deploy.test_configurations import check
from tests.system.deploy.test_manifests import CUSTOM, OLDEST

REDIS = Installation("redis")
CREDENTIALS = Installation("redis", ("credentials",))
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
def test_an_installation_complies_with_the_policy(installation):
    broken = broken_rules(rendered(installation))
    by_name = a_changed_configuration_rolls_the_pods.__name__  # here a checksum does that
    assert broken.keys() == {by_name}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_every_object_fits_the_schema(changes):
    """Covers only these variants: whole installations equal those of kustomize, which are validated there."""
    for each in rendered(REDIS, **changes):
        if each["kind"] in CUSTOM:
            assert faults_of(each) == []
            continue
        for version in (OLDEST, kubernetes_validate.latest_version()):
            kubernetes_validate.validate(each, version, strict=True)


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
def test_a_changed_configuration_rolls_the_pods(changes):
    assert _template(rendered(CREDENTIALS)) != _template(rendered(CREDENTIALS, **changes))


@pytest.mark.parametrize(
    "changes",
    [{"commonLabels": {}}, {"replicas": 5}, {"service": {"annotations": {"a": "b"}}}],
    ids=["nothing", "replicas", "service"],
)
def test_other_changes_roll_nothing(changes):
    assert _template(rendered(CREDENTIALS)) == _template(rendered(CREDENTIALS, **changes))


def _template(objects):
    return Manifests(objects).deployment["spec"]["template"]
