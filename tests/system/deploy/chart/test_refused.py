"""Helm rejects values that would not start or would lose data, and names their path."""

import itertools
from typing import Any

import pytest

from tests.project.chart import CHART
from tests.support.config import merged
from tests.support.helm import template
from tests.system.deploy.chart.releases import rendered, values_of
from tests.system.deploy.installations import Installation
from tests.system.deploy.policy.configuration import memory_suffices_in_the_worst_case
from tests.system.deploy.policy.manifests import Manifests

REDIS = Installation("redis")
MEMORY = Installation("memory", ("network-policy",))
CREDENTIALS = Installation("redis", ("credentials",))
CONTROL = {"control": {"enabled": True}}
ISSUER = {"issuer": "https://login", "audience": "kvs", "jwks": "/etc/kvs-gateway/keys.json"}
NO_ISSUER = {"issuerRef": {"name": ""}}
NO_SESSION = {"signature": {"credentials": {"session": None}}}

REFUSED: list[tuple[Installation, dict[str, Any], str]] = [
    (REDIS, {"replica": 3}, "additional properties 'replica' not allowed"),
    (REDIS, {"replicas": "three"}, "/replicas"),
    (REDIS, {"replicas": -1}, "/replicas"),
    (REDIS, {"image": {"repository": ""}}, "image.repository: is required"),
    (REDIS, {"image": {"repository": "registry.example.com/kvs-gateway:1.0"}}, "/image/repository"),
    (REDIS, {"image": {"tag": "latest"}}, "/image/tag"),
    (REDIS, {"image": {"digest": "sha256:12"}}, "/image/digest"),
    (REDIS, {"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
    (REDIS, {"config": {"region": ""}}, "config.region: is required"),
    (REDIS, {"config": {"region": "Frankfurt"}}, "/config/region"),
    (REDIS, {"config": {"public_url": ""}}, "config.public_url: is required"),
    (REDIS, {"config": {"public_url": "kvs.example.com"}}, "/config/public_url"),
    (REDIS, {"config": {"regoin": "eu-central-1"}}, "additional properties 'regoin' not allowed"),
    (REDIS, {"config": {"store": None}}, "/config"),
    (REDIS, {"config": {"store": {"kind": "postgres"}}}, "/config/store/kind"),
    (REDIS, {"config": {"store": {"table": "kvs"}}}, "/config/store"),
    (REDIS, {"config": {"store": {"url": "redis://:password@redis:6379/0"}}}, "/config/store/url"),
    (REDIS, {"config": {"control": {"tokens": ["a-token-of-many-characters"]}}}, "/config/control/tokens/0"),
    (
        REDIS,
        {"config": {"control": {"tokens": ["${TOKEN:-a-token-of-many-characters}"]}}},
        "/config/control/tokens/0",
    ),
    (
        REDIS,
        {"config": {"control": {"tokens": ["a-token-of-many-${CHARACTERS}"]}}},
        "/config/control/tokens/0",
    ),
    (REDIS, {"config": {"store": {"url": "redis://:password@${HOST}:6379/0"}}}, "/config/store/url"),
    (REDIS, {"config": {"store": {"url": "https://redis.internal"}}}, "/config/store/url"),
    (REDIS, {"config": {"tracing": {"headers": {"Authorization": "Basic a2V5"}}}}, "/tracing/headers/Auth"),
    (REDIS, {"config": {"tracing": {"headers": {"X-Api-Key": "key"}}}}, "/config/tracing/headers/X-Api-Key"),
    (REDIS, {"config": {"counters": {"kind": "memory"}}}, "config.counters.kind: must not be memory"),
    (
        REDIS,
        {"extraEnv": [{"name": "REDIS_PASSWORD", "value": "sesame"}]},
        "extraEnv[0].value: must not contain the secret REDIS_PASSWORD",
    ),
    (REDIS, {"extraEnv": [{"name": 5, "value": "7"}]}, "/extraEnv/0/name"),
    (REDIS, {"config": {"edge": {"max_connections": 0}}}, "/config/edge/max_connections"),
    (REDIS, {"config": {"edge": {"max_connections": "${MOST}"}}}, "/config/edge/max_connections"),
    (
        REDIS,
        {"config": {"limits": {"min_ttl_seconds": 60, "max_ttl_seconds": 30}}},
        "config.limits.max_ttl_seconds: must be at least",
    ),
    (
        REDIS,
        {"config": {"limits": {"default_ttl_seconds": 2**24, "max_ttl_seconds": 60}}},
        "config.limits.default_ttl_seconds: must be between",
    ),
    (REDIS, {"config": {"edge": {"max_connections": 3000}}}, "resources.limits.memory: is 256Mi, but"),
    (REDIS, {"config": {"limits": {"value_bytes": 65_537}}}, "/config/limits/value_bytes"),
    (REDIS, {"config": {"logging": {"level": "verbose"}}}, "/config/logging/level"),
    (REDIS, {"config": {"shutdown": {"grace_seconds": "30"}}}, "/config/shutdown/grace_seconds"),
    (REDIS, {"config": {"listen": {"control": {"host": "0.0.0.0"}}}}, "'control' not allowed"),
    (REDIS, {"config": {"listen": {"data": {"port": 80}}}}, "'port' not allowed"),
    (REDIS, {"config": {"signature": {"mode": "off"}}}, "config.signature.mode: must not be off"),
    (REDIS, {"config": {"workloads": [{"tokens": []}]}}, "config.workloads: requires credentials.enabled"),
    (REDIS, {"files": {"..keys.json": ""}}, "'..keys.json' does not match"),
    (REDIS, {"files": {"config.yaml": ""}}, "files: must not contain config.yaml"),
    (
        REDIS,
        {"autoscaling": {"enabled": True, "minReplicas": 30}},
        "autoscaling.minReplicas: must be at most autoscaling.maxReplicas",
    ),
    (
        REDIS,
        {"autoscaling": {"inFlight": {"enabled": True}}},
        "autoscaling.inFlight.enabled: requires autoscaling",
    ),
    (
        REDIS,
        {"podLabels": {"app.kubernetes.io/name": "mine"}},
        "podLabels: app.kubernetes.io/name is set by the chart",
    ),
    (REDIS, {"commonLabels": {"helm.sh/chart": "mine"}}, "commonLabels: helm.sh/chart is set by the chart"),
    (REDIS, {"podSecurityContext": {"runAsNonRoot": False}}, "/podSecurityContext/runAsNonRoot"),
    (REDIS, {"podSecurityContext": {"runAsUser": 0}}, "/podSecurityContext/runAsUser"),
    (REDIS, {"service": {"port": 0}}, "/service/port"),
    (REDIS, {"resources": {"limits": {"memory": "256M"}}}, "/resources/limits/memory"),
    (
        REDIS,
        {"resources": {"requests": {"memory": "1Gi"}}},
        "resources.requests.memory: must be at most the limit",
    ),
    (REDIS, {"networkPolicy": {"redis": {"cidrs": ["redis.internal"]}}}, "/networkPolicy/redis/cidrs/0"),
    (REDIS, {"serviceAccount": {"create": False}}, "serviceAccount.name: is required"),
    (REDIS, {"httpRoute": {"enabled": True}}, "httpRoute.parentRefs: is required"),
    (
        REDIS,
        {"ingress": {"enabled": True}, "config": {"public_hosts": []}},
        "config.public_hosts: is required for ingress and httpRoute",
    ),
    (
        REDIS,
        {"ingress": {"enabled": True}, "config": {"public_hosts": ["${HOST}"]}},
        "config.public_hosts: ${HOST} cannot be routed",
    ),
    (REDIS, CONTROL | {"networkPolicy": {"enabled": False}}, "control.enabled: requires networkPolicy"),
    (REDIS, CONTROL | {"certificates": NO_ISSUER}, "control.secretName: is required"),
    (MEMORY, {"replicas": 2}, "replicas: must be 1 with the memory store"),
    (MEMORY, {"autoscaling": {"enabled": True}}, "autoscaling.enabled: must be false with the memory store"),
    (MEMORY, {"config": {"store": {"max_bytes": 2**28}}}, "config.store.max_bytes need up to 490Mi"),
    (CREDENTIALS, {"networkPolicy": {"enabled": False}}, "credentials.enabled: requires networkPolicy"),
    (
        REDIS,
        {"config": {"control": {"oidc": [ISSUER]}}},
        "config.control.oidc[0].jwks: add keys.json to files",
    ),
    (
        CREDENTIALS,
        {"config": NO_SESSION},
        "credentials.enabled: requires config.signature.credentials.session",
    ),
]


@pytest.mark.parametrize(
    ("installation", "changes", "words"),
    REFUSED,
    ids=[f"{number} {words}" for number, (_, _, words) in enumerate(REFUSED)],
)
def test_a_wrong_value_is_rejected_with_its_path(installation, changes, words):
    done = template(CHART, merged(values_of(installation), changes))
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr


def test_missing_required_values_are_all_named():
    store = {"kind": "dynamodb", "table": "kvs", "region": "eu-central-1"}
    done = template(CHART, {"config": {"store": store}})
    for path in ("image.repository", "config.region", "config.public_url"):
        assert f"- {path}: is required" in done.stderr


@pytest.mark.parametrize("installation", [REDIS, MEMORY, CREDENTIALS], ids=str)
def test_the_required_memory_equals_that_of_the_policy(installation):
    most = _most_connections(Manifests(rendered(installation)))
    for connections, refused in ((most, False), (most + 1, True)):
        changes = {"config": {"edge": {"max_connections": connections}}}
        done = template(CHART, merged(values_of(installation), changes))
        assert ("resources.limits.memory: is" in done.stderr) == refused


def _most_connections(manifests: Manifests) -> int:
    """Returns the largest number of connections that the policy allows for these values."""

    def is_enough(connections: int) -> bool:
        manifests.config["edge"]["max_connections"] = connections
        return not list(memory_suffices_in_the_worst_case(manifests))

    return next(connections for connections in itertools.count(1) if not is_enough(connections + 1))
