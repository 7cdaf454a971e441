"""The gateway's Deployment: its pods, what has been asked of it, and what its Service leads to."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from lab.cluster.kubectl import Kubectl
from lab.cluster.step import run

DEPLOYMENT = "deployment/kvs-gateway"
PODS = "app.kubernetes.io/name=kvs-gateway"


class Deployed:
    """In one namespace."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self.kubectl, self.namespace = kubectl, namespace

    def service_address(self, namespace: str, name: str) -> str:
        return self.kubectl.get("--namespace", namespace, "service", name)["spec"]["clusterIP"]

    def all_pods(self) -> list[dict[str, Any]]:
        """The gateway's."""
        return self.here_get("pods", f"--selector={PODS}")

    def pods(self) -> list[dict[str, Any]]:
        """Pods that are not being deleted."""
        return [pod for pod in self.all_pods() if "deletionTimestamp" not in pod["metadata"]]

    def here(self, *arguments: str, **options: str) -> str:
        """Kubectl in that namespace."""
        return self.kubectl("--namespace", self.namespace, *arguments, **options)

    def here_get(self, *arguments: str) -> Any:
        return self.kubectl.get("--namespace", self.namespace, *arguments)

    def rolled_out(self, namespace: str | None = None, name: str = "kvs-gateway") -> None:
        """The gateway, if no other is named."""
        place = ("--namespace", namespace or self.namespace, f"deployment/{name}")
        self.kubectl("rollout", "status", *place, "--timeout=180s")

    def with_replicas(self, replicas: int) -> None:
        """So many, and no autoscaler that changes their number."""
        self.here("delete", "horizontalpodautoscaler", "kvs-gateway", "--ignore-not-found")
        self.here("scale", DEPLOYMENT, f"--replicas={replicas}")
        self.settled(replicas)

    def settled(self, replicas: int) -> None:
        """Until so many are there and ready, none is on its way out, and the Service leads to these alone."""
        self.until(lambda: self._is_settled(replicas))

    def at_rest(self) -> None:
        """The same with as many as the Deployment asks for, after its last rollout."""
        self.rolled_out()
        self.until(lambda: self._is_settled(self.here_get(DEPLOYMENT)["spec"]["replicas"]))

    def _is_settled(self, replicas: int) -> bool:
        pods = self.all_pods()
        addresses = {pod["status"].get("podIP") for pod in pods}
        return len(pods) == replicas and all(map(is_ready, pods)) and addresses == self.endpoints()

    def endpoints(self) -> set[str]:
        """Addresses that the Service leads to: not as the API server has them, but as kube-proxy does."""
        rules = run("iptables-save", "--table", "nat")
        return set(re.findall(rf'"{self.namespace}/kvs-gateway:data -> ([\d.]+):', rules))

    def until(self, condition: Callable[[], bool], seconds: float = 180.0) -> None:
        """Interval between two requests to the API server: half a second."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.here("get", "pods,events")
            time.sleep(0.5)


def is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", [])}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]
