"""Enforces NetworkPolicies on this node: the rules that follow from them, in chains of its own.

A process: `python -m lab.cluster.node.policies KUBECONFIG`. What comes for a pod passes the chain of its
ingress, what it sends that of its egress; a pod that no policy selects has none. The node reaches all.
"""

import ipaddress
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cluster.node.api import Api, Unreadable

EVERY_SECONDS = 0.25
_CHAIN = "KVS-POLICIES"
_ESTABLISHED = "-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN"


@dataclass(frozen=True)
class World:
    """Objects that policies refer to."""

    policies: Sequence[Mapping[str, Any]]
    pods: Sequence[Mapping[str, Any]]
    namespaces: Mapping[str, Mapping[str, str]]
    """Labels by name."""


def rules_of(world: World) -> str:
    """For iptables-restore: these chains as they have to be. Others, of earlier times, lead nowhere."""
    isolated = [
        (pod, direction, [policy for policy in world.policies if _applies(policy, pod, direction)])
        for pod in world.pods
        for direction in ("Ingress", "Egress")
    ]
    chains, jumps, rules = [_CHAIN], [_ESTABLISHED], []
    for number, (pod, direction, policies) in enumerate(isolated):
        if not policies:
            continue
        chain = f"KVS-{number}"
        chains.append(chain)
        jumps.append(f"{'-d' if direction == 'Ingress' else '-s'} {_address(pod)} -j {chain}")
        allowed = [each for policy in policies for each in _allowed(world, pod, policy, direction)]
        rules += [f"-A {chain} {each} -j RETURN" for each in dict.fromkeys(allowed)]
        rules.append(f"-A {chain} -j DROP")
    lines = ["*mangle", *(f":{chain} -" for chain in chains), *(f"-A {_CHAIN} {jump}" for jump in jumps)]
    return "\n".join([*lines, *rules, "COMMIT", ""])


def _applies(policy: Mapping[str, Any], pod: Mapping[str, Any], direction: str) -> bool:
    spec = policy["spec"]
    same = policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and direction in spec["policyTypes"] and _selects(spec["podSelector"], _labels(pod))


def _allowed(
    world: World, pod: Mapping[str, Any], policy: Mapping[str, Any], direction: str
) -> Iterator[str]:
    """Matches of what a policy allows one of its pods."""
    side, option = ("from", "-s") if direction == "Ingress" else ("to", "-d")
    for rule in policy["spec"].get(direction.lower(), []):
        for address, peer in _peers(world, policy, rule.get(side)):
            target = pod if direction == "Ingress" else peer
            for port in rule.get("ports") or [None]:
                for match in _port(port, target):
                    yield f"{option} {address} {match}".rstrip()


def _peers(
    world: World, policy: Mapping[str, Any], peers: Sequence[Mapping[str, Any]] | None
) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Addresses, each with its pod if it is one's."""
    if not peers:
        yield "0.0.0.0/0", None
    for peer in peers or []:
        if "ipBlock" in peer:
            yield from ((network, None) for network in _networks(**peer["ipBlock"]))
            continue
        for pod in world.pods:
            namespace = pod["metadata"]["namespace"]
            own = "namespaceSelector" not in peer and namespace == policy["metadata"]["namespace"]
            selected = "namespaceSelector" in peer and _selects(
                peer["namespaceSelector"], world.namespaces[namespace]
            )
            if (own or selected) and _selects(peer.get("podSelector", {}), _labels(pod)):
                yield _address(pod), pod


def _networks(cidr: str, **but: Sequence[str]) -> Iterator[str]:
    """Returns a network without the others; pods have IPv4 addresses only."""
    left = [ipaddress.ip_network(cidr)]
    if left[0].version == 6:
        return
    for each in map(ipaddress.ip_network, but.get("except", [])):
        left = [
            part
            for network in left
            for part in (network.address_exclude(each) if each.subnet_of(network) else [network])
        ]
    yield from map(str, left)


def _port(port: Mapping[str, Any] | None, target: Mapping[str, Any] | None) -> Iterator[str]:
    """A named port is the target's."""
    if port is None:
        yield ""
        return
    protocol, number = port.get("protocol", "TCP").lower(), port.get("port")
    if isinstance(number, str):
        containers = target["spec"]["containers"] if target else []
        numbers = [
            each["containerPort"]
            for container in containers
            for each in container.get("ports", [])
            if each.get("name") == number
        ]
    else:
        numbers = [number] if number else []
        if number is None:
            yield f"-p {protocol}"
    for each in numbers:
        yield f"-p {protocol} --dport {each}" + (f":{port['endPort']}" if "endPort" in port else "")


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        _holds(each, labels) for each in selector.get("matchExpressions", [])
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values", [])
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[expression["operator"]]


def _labels(pod: Mapping[str, Any]) -> Mapping[str, str]:
    return pod["metadata"].get("labels", {})


def _address(pod: Mapping[str, Any]) -> str:
    return pod["status"]["podIP"]


class Watcher:
    """Reads the API server and keeps the chains as they have to be."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._written = ""

    def look(self) -> None:
        namespaces = self._api.items("/api/v1/namespaces")
        labels = {each["metadata"]["name"]: each["metadata"].get("labels", {}) for each in namespaces}
        pods = [pod for pod in self._api.running_pods() if pod["metadata"]["namespace"] in labels]
        policies = self._api.items("/apis/networking.k8s.io/v1/networkpolicies")
        rules = rules_of(World(policies, pods, labels))
        if rules != self._written:
            subprocess.run(["iptables-restore", "--noflush"], input=rules, text=True, check=True)
            if not self._written:
                for chain in ("FORWARD", "INPUT"):
                    subprocess.run(["iptables", "-t", "mangle", "-A", chain, "-j", _CHAIN], check=True)
            self._written = rules


def main(kubeconfig: Path) -> None:
    watcher = Watcher(Api(kubeconfig))
    while True:
        try:
            watcher.look()
        except Unreadable as error:
            print(error, flush=True)  # the API server is not up yet, or was too slow
        time.sleep(EVERY_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
