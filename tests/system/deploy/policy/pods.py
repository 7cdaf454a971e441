"""Rules on pods: rights, lifetime, number and placement."""

import re
from collections.abc import Iterator
from typing import Any

from tests.system.deploy.policy.manifests import Manifests, at, differences
from tests.system.deploy.policy.traffic import opened

SPARE_SECONDS = 10
OWN_SERVICE_ACCOUNT = "kvs-gateway"
REPLICAS, SMALL_REPLICAS, MOST_REPLICAS = 3, 2, 20
MOST_CPU_PERCENT = 60


def pods_have_few_rights(manifests: Manifests) -> Iterator[str]:
    pod = manifests.pod
    yield from differences(
        pod,
        {
            "securityContext.runAsNonRoot": True,
            "securityContext.seccompProfile.type": "RuntimeDefault",
            "hostNetwork": None,
            "hostPID": None,
            "hostIPC": None,
        },
    )
    for key in ("runAsUser", "runAsGroup"):
        if (at(pod, "securityContext", key) or 0) < 10_000:
            yield f"{key} is below 10000"
    for volume in pod["volumes"]:
        if "hostPath" in volume:
            yield f"the volume {volume['name']} is a host path"


def containers_have_few_rights(manifests: Manifests) -> Iterator[str]:
    for container in [*manifests.pod["containers"], *manifests.pod.get("initContainers", [])]:
        yield from differences(
            container.get("securityContext", {}),
            {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
                "privileged": None,
                "runAsUser": None,
                "runAsNonRoot": None,
                "seccompProfile": None,
            },
        )


def pods_have_an_account_without_a_token(manifests: Manifests) -> Iterator[str]:
    yield from differences(
        manifests.pod, {"serviceAccountName": OWN_SERVICE_ACCOUNT, "automountServiceAccountToken": False}
    )
    account = manifests.named("ServiceAccount", OWN_SERVICE_ACCOUNT)
    yield from differences(account, {"automountServiceAccountToken": False})


def probes_are_as_designed(manifests: Manifests) -> Iterator[str]:
    def probe(path: str, **numbers: int) -> dict[str, object]:
        return {"httpGet": {"path": path, "port": "ops"}, **numbers}

    yield from differences(
        manifests.container,
        {
            "livenessProbe": probe("/livez", periodSeconds=10, timeoutSeconds=2, failureThreshold=3),
            "readinessProbe": probe("/readyz", periodSeconds=5, failureThreshold=2),
            "startupProbe": probe("/readyz", periodSeconds=1, failureThreshold=60),
        },
    )


def one_core_and_bounded_memory(manifests: Manifests) -> Iterator[str]:
    """Expects smaller requests with components/small, recognized by its two replicas."""
    memory = "384Mi" if opened(manifests) else "256Mi"
    small = manifests.deployment["spec"].get("replicas") == SMALL_REPLICAS
    requests = {"cpu": "100m", "memory": "96Mi"} if small else {"cpu": "1", "memory": memory}
    yield from differences(
        manifests.container, {"resources": {"requests": requests, "limits": {"memory": memory}}}
    )


def images_are_pinned(manifests: Manifests) -> Iterator[str]:
    for container in [*manifests.pod["containers"], *manifests.pod.get("initContainers", [])]:
        image = container["image"]
        if not re.search(r":[0-9][\w.-]*$|@sha256:[0-9a-f]{64}$", image):
            yield f"{image} is not pinned"


def rollouts_lose_no_replica(manifests: Manifests) -> Iterator[str]:
    """Exempts the memory store: a second replica would be a second store."""
    spec = manifests.deployment["spec"]
    if manifests.store == "memory":
        yield from differences(spec, {"replicas": 1, "strategy": {"type": "Recreate"}})
        return
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    yield from differences(spec, {"strategy": strategy, "minReadySeconds": 5})
    allowed = (None,) if _scalers(manifests) else (REPLICAS, SMALL_REPLICAS)
    if spec.get("replicas") not in allowed:
        yield f"{spec.get('replicas')} replicas"


def autoscaling_is_as_designed(manifests: Manifests) -> Iterator[str]:
    scalers = _scalers(manifests)
    if scalers and manifests.store == "memory":
        yield "the memory store allows only one replica"
    if len(scalers) > 1:
        yield "several autoscalers conflict"
    for scaler in scalers:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "kvs-gateway"}
        yield from differences(scaler["spec"], {"scaleTargetRef": target})
        by_cpu = scaler["kind"] == "HorizontalPodAutoscaler"
        yield from _by_cpu(scaler["spec"]) if by_cpu else _by_requests(scaler["spec"], manifests)


def _scalers(manifests: Manifests) -> list[dict[str, Any]]:
    return manifests.of("HorizontalPodAutoscaler") + manifests.of("ScaledObject")


def _by_cpu(spec: dict[str, Any]) -> Iterator[str]:
    target = {"type": "Utilization", "averageUtilization": MOST_CPU_PERCENT}
    yield from differences(
        spec,
        {
            "minReplicas": REPLICAS,
            "maxReplicas": MOST_REPLICAS,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            "behavior.scaleDown.stabilizationWindowSeconds": 300,
        },
    )


def _by_requests(spec: dict[str, Any], manifests: Manifests) -> Iterator[str]:
    """Expects scaling at half of a replica's requests in flight."""
    counts = {"minReplicaCount": REPLICAS, "maxReplicaCount": MOST_REPLICAS}
    behavior = "advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds"
    yield from differences(spec, {**counts, behavior: 300})
    yield from differences(
        {trigger["type"]: trigger for trigger in spec["triggers"]},
        {
            "cpu.metricType": "Utilization",
            "cpu.metadata.value": str(MOST_CPU_PERCENT),
            "prometheus.metricType": "AverageValue",
            "prometheus.metadata.threshold": str(manifests.config["edge"]["max_in_flight"] // 2),
        },
    )


def disruptions_take_one_pod_at_a_time(manifests: Manifests) -> Iterator[str]:
    budgets = manifests.of("PodDisruptionBudget")
    if len(budgets) != 1:
        yield f"there are {len(budgets)} budgets"
    for budget in budgets:
        yield from differences(
            budget["spec"],
            {"maxUnavailable": 1, "minAvailable": None, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
        )
        if not manifests.selects_pods(at(budget, "spec", "selector", "matchLabels") or {}):
            yield "the budget does not select the gateway's pods"


def pods_are_spread(manifests: Manifests) -> Iterator[str]:
    constraints = {each["topologyKey"]: each for each in manifests.pod.get("topologySpreadConstraints", [])}
    for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname"):
        constraint = constraints.get(key, {})
        yield from differences(
            constraint,
            {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["pod-template-hash"]},
        )
        if not manifests.selects_pods(at(constraint, "labelSelector", "matchLabels") or {}):
            yield f"the constraint on {key} does not select the gateway's pods"


def pods_have_time_to_shut_down(manifests: Manifests) -> Iterator[str]:
    """Adds preStop and `grace_seconds`, which counts from SIGTERM and covers drain and last scrape."""
    pre_stop = at(manifests.container, "lifecycle", "preStop", "sleep", "seconds") or 0
    shutdown = manifests.config["shutdown"]
    if pre_stop != 10:
        yield "preStop is not 10 s"
    if shutdown["drain_seconds"] >= shutdown["grace_seconds"]:
        yield "the drain leaves no time for the last scrape"
    needed = pre_stop + shutdown["grace_seconds"] + SPARE_SECONDS
    if manifests.pod.get("terminationGracePeriodSeconds", 30) < needed:
        yield f"pods are killed before {needed} s have passed"


def the_last_lines_of_the_log_explain_a_failure(manifests: Manifests) -> Iterator[str]:
    """Expects errors where `kubectl describe pod` shows them."""
    yield from differences(manifests.container, {"terminationMessagePolicy": "FallbackToLogsOnError"})
