"""Rules on traffic: who may reach which port, and which targets pods may reach."""

from collections.abc import Iterator
from typing import Any

from tests.system.deploy.policy.manifests import Manifests, at, differences

LISTENERS = ("data", "ops", "control", "credentials")
SERVICES = {
    "kvs-gateway": "data",
    "kvs-gateway-control": "control",
    "kvs-gateway-credentials": "credentials",
}
"""Ports of a Service by name."""
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
POD_IDENTITY_AGENT = "169.254.170.23/32"
WAYS = {
    "memory": (),
    "redis": (("TCP", 6379), ("TCP", 26379)),
    "dynamodb": (("TCP", 443), ("TCP", 80)),
}
"""Protocol and port of all that each store needs."""


def ports_are_those_of_the_configuration(manifests: Manifests) -> Iterator[str]:
    ports = {port["name"]: port["containerPort"] for port in manifests.container["ports"]}
    listen = manifests.config["listen"]
    for name in LISTENERS:
        if ports.get(name) != at(listen, name, "port"):
            yield f"the port {name} is {ports.get(name)}"
    for port in manifests.container["ports"]:
        if "hostPort" in port:
            yield f"the port {port['name']} is on the node"


def listeners_are_where_services_lead(manifests: Manifests) -> Iterator[str]:
    """Control is on loopback and credentials are off, unless a component opens them."""
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
            yield f"{name} is not for the gateway's pods"
        for port in service["spec"]["ports"]:
            if port.get("targetPort") != SERVICES.get(name):
                yield f"{name} leads to {port.get('targetPort', port['port'])}"


def selectors_find_the_pods(manifests: Manifests) -> Iterator[str]:
    if not manifests.selects_pods(at(manifests.deployment, "spec", "selector", "matchLabels") or {}):
        yield "the deployment does not find its own pods"
    if manifests.pod_labels.get("app.kubernetes.io/name") != "kvs-gateway":
        yield "monitoring does not find the pods"


def pods_are_closed_but_for_the_memory_store(manifests: Manifests) -> Iterator[str]:
    """The ops port has no authentication."""
    if manifests.store != "memory" and not manifests.named("NetworkPolicy", "kvs-gateway"):
        yield "everybody can reach the ops port"


def policies_are_for_the_pods(manifests: Manifests) -> Iterator[str]:
    for policy in manifests.of("NetworkPolicy"):
        if not manifests.selects_pods(at(policy, "spec", "podSelector", "matchLabels") or {}):
            yield f"{policy['metadata']['name']} is not for the gateway's pods"
    closed = at(manifests.named("NetworkPolicy", "kvs-gateway"), "spec", "policyTypes") or []
    if manifests.of("NetworkPolicy") and set(closed) != {"Ingress", "Egress"}:
        yield f"only {sorted(closed)} is closed"


def only_named_namespaces_come_in(manifests: Manifests) -> Iterator[str]:
    ways = [(rule, port) for rule in _rules(manifests, "ingress") for port in rule.get("ports", [{}])]
    for rule, port in ways:
        peers = rule.get("from", [])
        named = [at(peer, "namespaceSelector", "matchLabels", NAMESPACE_LABEL) for peer in peers]
        if port.get("port") in opened(manifests):
            continue
        if not named or not all(named):
            yield f"{port} is open to more than named namespaces"
        if port.get("port") not in ("data", "ops"):
            yield f"{port} is open"
        if port.get("port") == "ops" and named != ["monitoring"]:
            yield f"ops is open to {named}"
    reached = {port.get("port") for _, port in ways}
    if manifests.of("NetworkPolicy") and reached != {"data", "ops", *opened(manifests)}:
        yield "a listener cannot be reached"


def only_labelled_pods_of_labelled_namespaces_come_in(manifests: Manifests) -> Iterator[str]:
    """Tenants label their pods, but not namespaces: both labels are needed, each in the same peer."""
    if opened(manifests) and not manifests.of("NetworkPolicy"):
        yield "everybody can reach every listener"
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
        yield f"{way} is closed"
    for way in ways - needed:
        yield f"{way} is open"


def metadata_of_the_node_is_out_of_reach(manifests: Manifests) -> Iterator[str]:
    for rule in _rules(manifests, "egress"):
        if not rule.get("to"):
            yield "a way out leads anywhere"
        for peer in rule.get("to", []):
            block = peer.get("ipBlock", {})
            if block.get("cidr") == "0.0.0.0/0" and "169.254.0.0/16" not in block.get("except", []):
                yield "the node's metadata can be reached"
    agents = [
        port["port"]
        for rule in _rules(manifests, "egress")
        if {"ipBlock": {"cidr": POD_IDENTITY_AGENT}} in rule.get("to", [])
        for port in rule["ports"]
    ]
    if manifests.of("NetworkPolicy") and manifests.store == "dynamodb" and agents != [80]:
        yield "the agent of Pod Identity is not reached on port 80"


def opened(manifests: Manifests) -> set[str]:
    """Listeners that a Service exposes beside the data listener."""
    names = {service["metadata"]["name"] for service in manifests.of("Service")}
    return {SERVICES[name] for name in names & SERVICES.keys()} - {"data"}


def _rules(manifests: Manifests, way: str) -> list[dict[str, Any]]:
    return [rule for policy in manifests.of("NetworkPolicy") for rule in at(policy, "spec", way) or []]
