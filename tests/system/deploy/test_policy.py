"""Each rule of the policy reports a change to valid manifests that violates it."""

from copy import deepcopy
from typing import Any

import pytest
import yaml

from tests.system.deploy.installations import LISTENERS, Installation
from tests.system.deploy.policy import RULES, broken_rules
from tests.system.deploy.policy.manifests import Manifests

GONE = object()
ALL = ("autoscaling", "control", "credentials")
POD = "Deployment/spec/template/spec"
CONTAINER = f"{POD}/containers/0"
SECURITY = f"{CONTAINER}/securityContext"
INGRESS = "NetworkPolicy/spec/ingress"
CREDENTIALS = "Service:kvs-gateway-credentials"
CERTIFICATE = "Certificate:kvs-gateway-credentials"
CLIENTS = "NetworkPolicy:kvs-gateway-credentials/spec/ingress/0/from"
MANAGERS = "NetworkPolicy:kvs-gateway-control/spec/ingress/0/from"
LABEL = {"matchLabels": {"kvs-gateway-credentials": "client"}}
ANYWHERE = [{"ipBlock": {"cidr": "0.0.0.0/0"}}]

BREAKS: list[tuple[str, str, Any]] = [
    ("pods_have_few_rights", f"{POD}/securityContext/runAsNonRoot", GONE),
    ("pods_have_few_rights", f"{POD}/securityContext/runAsUser", 0),
    ("pods_have_few_rights", f"{POD}/securityContext/runAsUser", 999),
    ("pods_have_few_rights", f"{POD}/securityContext/runAsGroup", GONE),
    ("pods_have_few_rights", f"{POD}/securityContext/seccompProfile/type", "Unconfined"),
    ("pods_have_few_rights", f"{POD}/hostNetwork", True),
    ("pods_have_few_rights", f"{POD}/volumes/+", {"name": "node", "hostPath": {"path": "/"}}),
    ("containers_have_few_rights", f"{SECURITY}/readOnlyRootFilesystem", False),
    ("containers_have_few_rights", f"{SECURITY}/allowPrivilegeEscalation", GONE),
    ("containers_have_few_rights", f"{SECURITY}/capabilities", {"drop": ["ALL"], "add": ["NET_ADMIN"]}),
    ("containers_have_few_rights", f"{SECURITY}/capabilities/drop", []),
    ("containers_have_few_rights", f"{SECURITY}/privileged", True),
    ("containers_have_few_rights", f"{SECURITY}/runAsUser", 0),
    ("containers_have_few_rights", f"{POD}/initContainers", [{"name": "first", "image": "busybox:1.36"}]),
    ("pods_have_an_account_without_a_token", f"{POD}/serviceAccountName", GONE),
    ("pods_have_an_account_without_a_token", f"{POD}/automountServiceAccountToken", True),
    ("pods_have_an_account_without_a_token", "ServiceAccount/automountServiceAccountToken", GONE),
    ("pods_have_an_account_without_a_token", "ServiceAccount", GONE),
    ("probes_are_as_designed", f"{CONTAINER}/livenessProbe/httpGet/path", "/readyz"),
    ("probes_are_as_designed", f"{CONTAINER}/readinessProbe", GONE),
    ("probes_are_as_designed", f"{CONTAINER}/startupProbe/failureThreshold", 3),
    ("one_core_and_bounded_memory", f"{CONTAINER}/resources/limits/cpu", "1"),
    ("one_core_and_bounded_memory", f"{CONTAINER}/resources/requests/memory", "64Mi"),
    ("images_are_pinned", f"{CONTAINER}/image", "registry.example.com/kvs-gateway"),
    ("images_are_pinned", f"{CONTAINER}/image", "registry.example.com/kvs-gateway:latest"),
    ("images_are_pinned", f"{CONTAINER}/image", "registry.example.com:5000/kvs-gateway"),
    ("rollouts_lose_no_replica", "Deployment/spec/strategy/rollingUpdate/maxUnavailable", 1),
    ("rollouts_lose_no_replica", "Deployment/spec/minReadySeconds", GONE),
    ("rollouts_lose_no_replica", "Deployment/spec/replicas", 3),
    ("rollouts_lose_no_replica", "HorizontalPodAutoscaler", GONE),
    ("autoscaling_is_as_designed", "HorizontalPodAutoscaler/spec/minReplicas", 1),
    ("autoscaling_is_as_designed", "HorizontalPodAutoscaler/spec/behavior", GONE),
    ("autoscaling_is_as_designed", "HorizontalPodAutoscaler/spec/scaleTargetRef/name", "other"),
    ("disruptions_take_one_pod_at_a_time", "PodDisruptionBudget", GONE),
    ("disruptions_take_one_pod_at_a_time", "PodDisruptionBudget/spec/unhealthyPodEvictionPolicy", GONE),
    ("disruptions_take_one_pod_at_a_time", "PodDisruptionBudget/spec/selector/matchLabels", {"app": "x"}),
    ("pods_are_spread", f"{POD}/topologySpreadConstraints/0", GONE),
    ("pods_are_spread", f"{POD}/topologySpreadConstraints/1/matchLabelKeys", GONE),
    ("pods_are_spread", f"{POD}/topologySpreadConstraints/1/labelSelector/matchLabels", {"app": "x"}),
    (
        "autoscaling_is_as_designed",
        "+",
        {"kind": "ScaledObject", "metadata": {"name": "x"}, "spec": {"triggers": []}},
    ),
    ("the_last_lines_of_the_log_explain_a_failure", f"{CONTAINER}/terminationMessagePolicy", GONE),
    ("pods_have_time_to_shut_down", f"{POD}/terminationGracePeriodSeconds", 45),
    ("pods_have_time_to_shut_down", f"{POD}/terminationGracePeriodSeconds", GONE),
    ("pods_have_time_to_shut_down", f"{CONTAINER}/lifecycle", GONE),
    ("pods_have_time_to_shut_down", "config/shutdown/grace_seconds", 50),
    ("pods_have_time_to_shut_down", "config/shutdown/drain_seconds", 30),
    ("ports_are_those_of_the_configuration", "config/listen/ops/port", 9091),
    ("ports_are_those_of_the_configuration", f"{CONTAINER}/ports/0", GONE),
    ("ports_are_those_of_the_configuration", f"{CONTAINER}/ports/0/hostPort", 8080),
    ("ports_are_those_of_the_configuration", f"{CONTAINER}/ports/3", GONE),
    ("listeners_bind_where_services_need_them", "config/listen/control/host", "127.0.0.1"),
    ("listeners_bind_where_services_need_them", "Service:kvs-gateway-control", GONE),
    ("listeners_bind_where_services_need_them", "config/listen/credentials", GONE),
    ("listeners_bind_where_services_need_them", "config/listen/data/host", "127.0.0.1"),
    ("services_carry_one_listener_each", "Service/spec/ports/+", {"name": "ops", "port": 9090}),
    ("services_carry_one_listener_each", "Service/spec/ports/0/targetPort", "control"),
    ("services_carry_one_listener_each", "Service/spec/ports/0/targetPort", 9090),
    ("services_carry_one_listener_each", "Service/spec/selector", {"app": "x"}),
    ("services_carry_one_listener_each", "Service", GONE),
    ("services_carry_one_listener_each", f"{CREDENTIALS}/spec/ports/0/targetPort", "control"),
    ("services_carry_one_listener_each", f"{CREDENTIALS}/metadata/name", "other"),
    ("selectors_find_the_pods", "Deployment/spec/selector/matchLabels", {"app": "x"}),
    ("pods_are_isolated_except_with_the_memory_store", "NetworkPolicy", GONE),
    ("policies_are_for_the_pods", "NetworkPolicy/spec/podSelector", {}),
    ("policies_are_for_the_pods", "NetworkPolicy/spec/policyTypes", ["Egress"]),
    ("only_named_namespaces_have_access", "NetworkPolicy/spec/ingress/0/from", GONE),
    (
        "only_named_namespaces_have_access",
        "NetworkPolicy/spec/ingress/0/from/+",
        {"ipBlock": {"cidr": "::/0"}},
    ),
    ("only_named_namespaces_have_access", "NetworkPolicy/spec/ingress/0/ports", GONE),
    ("only_named_namespaces_have_access", "NetworkPolicy/spec/ingress/0/ports/0/port", "ops"),
    ("only_named_namespaces_have_access", "NetworkPolicy/spec/ingress/0/ports/+", {"port": 8083}),
    ("only_labelled_pods_of_labelled_namespaces_have_access", f"{INGRESS}/0/ports/+", {"port": "control"}),
    ("only_named_namespaces_have_access", "NetworkPolicy/spec/ingress/1", GONE),
    ("only_labelled_pods_of_labelled_namespaces_have_access", CLIENTS, GONE),
    ("only_labelled_pods_of_labelled_namespaces_have_access", f"{CLIENTS}/0/namespaceSelector", {}),
    ("only_labelled_pods_of_labelled_namespaces_have_access", f"{CLIENTS}/0/namespaceSelector", GONE),
    ("only_labelled_pods_of_labelled_namespaces_have_access", f"{CLIENTS}/0/podSelector", GONE),
    ("only_labelled_pods_of_labelled_namespaces_have_access", f"{CLIENTS}/+", {"podSelector": LABEL}),
    ("only_labelled_pods_of_labelled_namespaces_have_access", f"{MANAGERS}/0/namespaceSelector", LABEL),
    ("only_labelled_pods_of_labelled_namespaces_have_access", f"{MANAGERS}/+", ANYWHERE[0]),
    ("pods_reach_what_they_need", "NetworkPolicy/spec/egress/0", GONE),
    ("pods_reach_what_they_need", "NetworkPolicy/spec/egress/0/ports", GONE),
    ("pods_reach_what_they_need", "NetworkPolicy:kvs-gateway-redis", GONE),
    ("node_metadata_is_unreachable", "NetworkPolicy/spec/egress/0/to", GONE),
    ("node_metadata_is_unreachable", "NetworkPolicy:kvs-gateway-redis/spec/egress/0/to", ANYWHERE),
    ("pods_reach_what_they_need", "NetworkPolicy:kvs-gateway-redis/spec/egress/0/ports/+", {"port": 443}),
    ("exposed_listeners_present_their_certificate", "config/listen/control/tls", None),
    ("exposed_listeners_present_their_certificate", "config/listen/credentials/tls/key", "/elsewhere.key"),
    ("exposed_listeners_present_their_certificate", CERTIFICATE, GONE),
    ("exposed_listeners_present_their_certificate", f"{CERTIFICATE}/spec/secretName", "other"),
    ("exposed_listeners_present_their_certificate", f"{POD}/volumes/2", GONE),
    ("certificates_are_as_designed", f"{CERTIFICATE}/spec/privateKey/rotationPolicy", GONE),
    ("certificates_are_as_designed", f"{CERTIFICATE}/spec/isCA", True),
    ("certificates_are_as_designed", f"{CERTIFICATE}/spec/dnsNames/+", "*.svc"),
    ("certificates_are_as_designed", "Certificate:kvs-gateway-control/spec/dnsNames/2", GONE),
    ("certificates_are_mounted_as_updatable_files", f"{CONTAINER}/volumeMounts/2/subPath", "tls.crt"),
    ("certificates_are_mounted_as_updatable_files", f"{CONTAINER}/volumeMounts/3/readOnly", GONE),
    ("certificates_are_mounted_as_updatable_files", f"{POD}/volumes/3/secret/defaultMode", 0o444),
    ("certificates_are_mounted_as_updatable_files", f"{POD}/volumes/2/secret/optional", True),
    ("a_changed_configuration_rolls_the_pods", f"{POD}/volumes/0/configMap/name", "kvs-gateway"),
    ("a_changed_configuration_rolls_the_pods", f"{POD}/volumes/0/configMap/name", GONE),
    ("the_configuration_is_mounted_where_it_is_read", f"{CONTAINER}/args/2", "/elsewhere.yaml"),
    ("secrets_are_mounted_as_updatable_files", f"{CONTAINER}/volumeMounts/1/subPath", "control-token"),
    ("secrets_are_mounted_as_updatable_files", f"{CONTAINER}/volumeMounts/1/readOnly", GONE),
    ("secrets_are_mounted_as_updatable_files", f"{POD}/volumes/1/secret/defaultMode", 0o444),
    ("secrets_are_mounted_as_updatable_files", f"{POD}/volumes/1/secret/optional", True),
    ("secrets_are_mounted_as_updatable_files", f"{POD}/volumes/1/secret/items", [{"key": "a", "path": "a"}]),
    ("secrets_are_mounted_as_updatable_files", f"{POD}/securityContext/fsGroup", GONE),
    ("secrets_are_mounted_as_updatable_files", "config/control/tokens", ["file:/etc/token"]),
    ("no_secret_is_in_the_manifests", "+", {"kind": "Secret", "metadata": {"name": "kvs-gateway"}}),
    ("no_secret_is_in_the_manifests", f"{CONTAINER}/env", [{"name": "KVS_CONTROL_TOKEN", "value": "x"}]),
    ("no_secret_is_in_the_manifests", "config/control/tokens", ["${KVS_CONTROL_TOKEN:-written-down}"]),
    ("no_secret_is_in_the_manifests", "config/store/url", "redis://:password@redis:6379/0"),
    ("memory_suffices_in_the_worst_case", "config/edge/max_in_flight", 1000),
    ("memory_suffices_in_the_worst_case", "config/edge/max_connections", 10_000),
    ("memory_suffices_in_the_worst_case", "config/edge/max_connections", 500),
]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    objects = Installation("redis", ALL).render(tmp_path_factory.mktemp("good"))
    assert broken_rules(objects) == {}
    return objects


@pytest.mark.parametrize(
    ("rule", "path", "value"), BREAKS, ids=[f"{rule}-{number}" for number, (rule, *_) in enumerate(BREAKS)]
)
def test_a_broken_rule_is_reported(rule, path, value, good):
    changed = deepcopy(good)
    _change(changed, path, value)
    assert rule in broken_rules(changed)


def test_every_rule_has_a_change_that_breaks_it():
    assert {rule for rule, *_ in BREAKS} == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("Deployment/spec/replicas", 2, "rollouts_lose_no_replica"),
        ("Deployment/spec/strategy", {"type": "RollingUpdate"}, "rollouts_lose_no_replica"),
        ("config/store/max_bytes", 268_435_456, "memory_suffices_in_the_worst_case"),
        (
            "+",
            {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "x"}, "spec": {}},
            "autoscaling_is_as_designed",
        ),
    ],
)
def test_the_memory_store_allows_only_one_small_replica(path, value, rule, tmp_path):
    objects = Installation("memory").render(tmp_path)
    _change(objects, path, value)
    assert rule in broken_rules(objects)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("config/listen/control/host", "0.0.0.0"),
        ("config/listen/credentials", {"host": "0.0.0.0", "port": 8082}),
    ],
)
def test_control_and_credentials_are_not_exposed_without_their_components(path, value, tmp_path):
    objects = Installation("redis").render(tmp_path)
    _change(objects, path, value)
    assert broken_rules(objects)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("ScaledObject/spec/triggers/0/metadata/value", "90"),
        ("ScaledObject/spec/triggers/1", GONE),
        ("ScaledObject/spec/triggers/1/metadata/threshold", "200"),
        ("ScaledObject/spec/minReplicaCount", 1),
        ("ScaledObject/spec/advanced", {}),
        ("ScaledObject/spec/scaleTargetRef/name", "other"),
        ("config/edge/max_in_flight", 150),
    ],
)
def test_autoscaling_by_requests_in_flight_is_as_designed(path, value, tmp_path):
    objects = Installation("redis", ("autoscaling-in-flight",)).render(tmp_path)
    _change(objects, path, value)
    assert "autoscaling_is_as_designed" in broken_rules(objects)


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        (f"{CONTAINER}/resources/requests/memory", "256Mi", "one_core_and_bounded_memory"),
        (f"{CONTAINER}/resources/limits/memory", "96Mi", "one_core_and_bounded_memory"),
        ("Deployment/spec/replicas", 1, "rollouts_lose_no_replica"),
    ],
)
def test_a_small_installation_has_two_small_replicas(path, value, rule, tmp_path):
    objects = Installation("redis", ("small",)).render(tmp_path)
    _change(objects, path, value)
    assert rule in broken_rules(objects)


@pytest.mark.parametrize("listener", LISTENERS)
def test_a_listener_is_exposed_only_with_the_network_policy(listener, tmp_path):
    """A network policy blocks all ports that none allows, so the data port would be unreachable."""
    broken = broken_rules(Installation("memory", (listener,)).render(tmp_path))
    assert "a listener cannot be reached" in broken["only_named_namespaces_have_access"]


def test_the_agent_of_pod_identity_must_be_reachable(tmp_path):
    objects = Installation("dynamodb-pod-identity", ALL).render(tmp_path)
    _change(objects, "NetworkPolicy:kvs-gateway-aws/spec/egress/1", GONE)
    assert {"node_metadata_is_unreachable", "pods_reach_what_they_need"} <= set(broken_rules(objects))


def test_egress_to_dynamodb_excludes_the_nodes_metadata_address(tmp_path):
    objects = Installation("dynamodb-irsa").render(tmp_path)
    _change(objects, "NetworkPolicy:kvs-gateway-aws/spec/egress/0/to", ANYWHERE)
    assert "node_metadata_is_unreachable" in broken_rules(objects)


def _change(objects: list[dict[str, Any]], path: str, value: Any) -> None:
    """Sets the value at `Kind[:name]/key/…/key`, or inside the configuration; `+` appends to a list."""
    first, *rest = path.split("/")
    if first == "config":
        manifests = Manifests(objects)
        config = manifests.config
        _set(config, rest, value)
        manifests.config_map["data"]["config.yaml"] = yaml.safe_dump(config)
        return
    if first != "+":
        kind, _, name = first.partition(":")
        names = [(each["kind"], each["metadata"]["name"]) for each in objects]
        first = str(names.index((kind, name or "kvs-gateway")))
    _set(objects, [first, *rest], value)


def _set(tree: Any, steps: list[str], value: Any) -> None:
    *way, last = [int(step) if step.isdigit() else step for step in steps]
    for step in way:
        tree = tree[step]
    if last == "+":
        tree.append(value)
    elif value is GONE:
        del tree[last]
    else:
        tree[last] = value
