"""Rules on traffic: allowed clients of each port, and allowed targets of pods."""

from collections.abc import Iterator
from typing import Any

from tests.system.deploy.policy.manifests import Manifests, at, differences

LISTENERS = ("data", "ops", "control", "credentials")
SERVICES = {
    "kvs-gateway": "data",
    "kvs-gateway-control": "control",
    "kvs-gateway-credentials": "credentials",
}
"""Listeners by name of their Service."""
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
POD_IDENTITY_AGENT = "169.254.170.23/32"
WAYS = {
    "memory": (),
    "redis": (("TCP", 6379), ("TCP", 26379)),
    "dynamodb": (("TCP", 443), ("TCP", 80)),
}
"""Protocols and ports that each store needs."""


def ports_are_those_of_the_configuration(manifests: Manifests) -> Iterator[str]:
    ports = {port["name"]: port["containerPort"] for port in manifests.container["ports"]}
    listen = manifests.config["listen"]
    for name in LISTENERS:
        if ports.get(name) != at(listen, name, "port"):
            yield f"the port {name} is {ports.get(name)}"
    for port in manifests.container["ports"]:
        if "hostPort" in port:
            yield f"the port {port['name']} is a host port"


def listeners_bind_where_services_need_them(manifests: Manifests) -> Iterator[str]:
    """Expects control on loopback and credentials off, unless a component exposes them."""
    expected: dict[str, str | None] = {"data.host": "0.0.0.0", "ops.host": "0.0.0.0"}
    expected |= {"control.host": "127.0.0.1", "credentials.host": None}
    for listener in opened(manifests):
        expected[f"{listener}.host"] = "0.0.0.0"
    yield from differences(manifests.config["listen"], expected)


def services_carry_one_listener_each(manifests: Manifests) -> Iterator[str]:
    if not manifests.named("Service", "kvs-gateway"):
        yield "there is no service"
    for service in manifests.of("Service"):
        name = service["metadata"]["name"]
        if not manifests.selects_pods(service["spec"]["selector"]):
            yield f"{name} does not select the gateway's pods"
        for port in service["spec"]["ports"]:
            if port.get("targetPort") != SERVICES.get(name):
                yield f"{name} leads to {port.get('targetPort', port['port'])}"


def selectors_find_the_pods(manifests: Manifests) -> Iterator[str]:
    if not manifests.selects_pods(at(manifests.deployment, "spec", "selector", "matchLabels") or {}):
        yield "the deployment does not select its own pods"
    if manifests.pod_labels.get("app.kubernetes.io/name") != "kvs-gateway":
        yield "monitoring does not select the pods"


def pods_are_isolated_except_with_the_memory_store(manifests: Manifests) -> Iterator[str]:
    """Expects a network policy, because the ops port has no authentication."""
    if manifests.store != "memory" and not manifests.named("NetworkPolicy", "kvs-gateway"):
        yield "every pod can reach the ops port"


def policies_are_for_the_pods(manifests: Manifests) -> Iterator[str]:
    for policy in manifests.of("NetworkPolicy"):
        if not manifests.selects_pods(at(policy, "spec", "podSelector", "matchLabels") or {}):
            yield f"{policy['metadata']['name']} does not select the gateway's pods"
    closed = at(manifests.named("NetworkPolicy", "kvs-gateway"), "spec", "policyTypes") or []
    if manifests.of("NetworkPolicy") and set(closed) != {"Ingress", "Egress"}:
        yield f"only {sorted(closed)} is restricted"


def only_named_namespaces_have_access(manifests: Manifests) -> Iterator[str]:
    ways = [(rule, port) for rule in _rules(manifests, "ingress") for port in rule.get("ports", [{}])]
    for rule, port in ways:
        peers = rule.get("from", [])
        named = [at(peer, "namespaceSelector", "matchLabels", NAMESPACE_LABEL) for peer in peers]
        if port.get("port") in opened(manifests):
            continue
        if not named or not all(named):
            yield f"{port} is open to more than named namespaces"
        if port.get("port") not in ("data", "ops"):
            yield f"{port} is exposed"
        if port.get("port") == "ops" and named != ["monitoring"]:
            yield f"ops is open to {named}"
    reached = {port.get("port") for _, port in ways}
    if manifests.of("NetworkPolicy") and reached != {"data", "ops", *opened(manifests)}:
        yield "a listener cannot be reached"


def only_labelled_pods_of_labelled_namespaces_have_access(manifests: Manifests) -> Iterator[str]:
    """Expects both labels in one peer: tenants can label their own pods, but not namespaces."""
    if opened(manifests) and not manifests.of("NetworkPolicy"):
        yield "every pod can reach every listener"
    for rule in _rules(manifests, "ingress"):
        for listener in {port.get("port") for port in rule.get("ports", [{}])} & opened(manifests):
            label = {"matchLabels": {f"kvs-gateway-{listener}": "client"}}
            if rule.get("from") != [{"namespaceSelector": label, "podSelector": label}]:
                yield f"{listener} is open to {rule.get('from')}"


def pods_reach_what_they_need(manifests: Manifests) -> Iterator[str]:
    """Checks that nothing else is reachable."""
    if not manifests.of("NetworkPolicy"):
        return
    ways = {
        (port.get("protocol"), port.get("port"))
        for rule in _rules(manifests, "egress")
        for port in rule.get("ports", [{}])
    }
    needed = {("UDP", 53), ("TCP", 53), *WAYS[manifests.store]}
    for way in needed - ways:
        yield f"{way} is blocked"
    for way in ways - needed:
        yield f"{way} is allowed but not needed"


def node_metadata_is_unreachable(manifests: Manifests) -> Iterator[str]:
    for rule in _rules(manifests, "egress"):
        if not rule.get("to"):
            yield "an egress rule allows all targets"
        for peer in rule.get("to", []):
            block = peer.get("ipBlock", {})
            if block.get("cidr") == "0.0.0.0/0" and "169.254.0.0/16" not in block.get("except", []):
                yield "the node's metadata is reachable"
    agents = [
        port["port"]
        for rule in _rules(manifests, "egress")
        if {"ipBlock": {"cidr": POD_IDENTITY_AGENT}} in rule.get("to", [])
        for port in rule["ports"]
    ]
    if manifests.of("NetworkPolicy") and manifests.store == "dynamodb" and agents != [80]:
        yield "the agent of Pod Identity is not reachable on port 80"


def opened(manifests: Manifests) -> set[str]:
    """Returns the listeners that a Service exposes, except data."""
    names = {service["metadata"]["name"] for service in manifests.of("Service")}
    return {SERVICES[name] for name in names & SERVICES.keys()} - {"data"}


def _rules(manifests: Manifests, way: str) -> list[dict[str, Any]]:
    return [rule for policy in manifests.of("NetworkPolicy") for rule in at(policy, "spec", way) or []]
