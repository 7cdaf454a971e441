"""Asks from inside pods what can be reached from there."""

import json
from collections.abc import Iterable, Mapping

from lab.cluster.kubectl import Kubectl
from lab.cluster.manifests import namespace, probe

_CONNECT = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor

def reached(target):
    host, port = target.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 2).close()
        return True
    except OSError:
        return False

targets = sys.argv[1:]
with ThreadPoolExecutor(len(targets)) as pool:
    print(json.dumps(dict(zip(targets, pool.map(reached, targets)))))
"""


class Probe:
    """A pod that waits for commands; its namespace is created if it is missing."""

    def __init__(
        self,
        kubectl: Kubectl,
        name: str,
        place: str,
        image: str,
        *,
        of_namespace: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self._kubectl, self._place = kubectl, ("--namespace", place)
        self._name = name
        if of_namespace or not kubectl.succeeds("get", "namespace", place):
            kubectl.apply(namespace(place, **(of_namespace or {})))
        kubectl.apply(probe(name, place, image, **(labels or {})))

    def run(self, script: str, *arguments: str) -> str:
        """Returns the output of a Python script in the pod."""
        pod = f"pod/{self._name}"
        self._kubectl(*self._place, "wait", pod, "--for=condition=Ready", "--timeout=60s")
        return self._kubectl(*self._place, "exec", self._name, "--", "python", "-c", script, *arguments)

    def reached(self, targets: Iterable[str]) -> dict[str, bool]:
        """For each `host:port` whether it takes a connection within 2 s."""
        return json.loads(self.run(_CONNECT, *targets))


def reached_from(kubectl: Kubectl, place: str, pod: str, targets: Iterable[str]) -> dict[str, bool]:
    """The same from a pod that has other things to do."""
    return json.loads(kubectl("--namespace", place, "exec", pod, "--", "python", "-c", _CONNECT, *targets))
