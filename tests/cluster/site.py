"""The gateway on the cluster, installed by the blocks of deploy/README.md, and what stands beside it."""

import base64
import json
import re
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.cluster import manifests, my_gateway
from tests.cluster.authority import Authority
from tests.cluster.images import GATEWAY
from tests.cluster.load import Caller
from tests.cluster.node.node import Node
from tests.cluster.shell import Shell
from tests.support.signing import Signer
from tests.system.deploy.guide import FIRST_PUT, SCRIPTS, marked
from tests.system.deploy.installations import DEPLOY

NAMESPACE = "kvs-gateway"
DEPLOYMENT = "deployment/kvs-gateway"
PODS = "app.kubernetes.io/name=kvs-gateway"
ROLE = "arn:aws:iam::123456789012:role/managed-app-{app}"
NO_LIMIT = "1000000000"


class Site:
    """`folder` is where the guide is followed: `deploy` and `my-gateway` lie in it."""

    def __init__(self, node: Node) -> None:
        self.node, self.kubectl = node, node.kubectl
        self.folder = node.folder / "guide"
        self._authority = Authority()
        self._has_listeners = False
        self._kvs = re.search(r"^kvs\(\) \{.*?^\}\n", FIRST_PUT, re.DOTALL | re.MULTILINE)[0]
        self.first_put = ""

    def install(self) -> None:
        """Steps 2 to 6 of the guide."""
        shutil.copytree(DEPLOY, self.folder / "deploy")
        self.shell = Shell(self.folder, self.kubectl.command)
        image = f"{GATEWAY}:now"
        self.kubectl.apply(*manifests.redis(), *manifests.prometheus(), *manifests.ingress(image))
        self.rolled_out("stores", "redis")
        self.rolled_out("monitoring", "prometheus")
        self.shell(
            re.sub(r"rediss?://[^']*", manifests.REDIS_URL, _script("kubectl create namespace kvs-gateway"))
        )
        self.write("now", autoscaling=True)
        self.shell(_script("kubectl apply -k my-gateway "))
        self.shell(marked("autoscaling"))
        self.shell(_script("kubectl --namespace kvs-gateway rollout status"))
        self.first_put = self.shell(FIRST_PUT)

    def open_listeners(self) -> None:
        """The section on workloads: the cluster's keys, both components, and certificates for them."""
        if self._has_listeners:
            return
        self._has_listeners = True
        discovery = json.loads(self.shell(marked("keys")))
        self.write("now")
        assert discovery["issuer"] in (self.folder / "my-gateway" / "config.yaml").read_text()
        self.shell("kubectl apply -k my-gateway")
        self._authority.issue(self.kubectl, NAMESPACE)
        self.rolled_out()
        self.settled(2)
        self._kvs = marked("kvs over TLS")

    @property
    def authority(self) -> str:
        """The certificate of who has signed the listeners'."""
        return self._authority.certificate

    def secret(self, key: str) -> str:
        """Of those that the guide's second step has made."""
        data = self.here_get("secret", "kvs-gateway")["data"]
        return base64.b64decode(data[key]).decode().strip()

    def write(self, image: str, configuration: Mapping[str, Any] | None = None, **options: Any) -> None:
        """`my-gateway` with an image that was loaded; options as there."""
        digest = self.node.digest(f"{GATEWAY}:{image}")
        self.node.name(f"{GATEWAY}:{image}", f"{my_gateway.IMAGE}@{digest}")
        options.setdefault("listeners", self._has_listeners)
        my_gateway.write(self.folder / "my-gateway", digest, configuration, **options)

    def apply(self) -> None:
        """`my-gateway`."""
        self.shell("kubectl apply -k my-gateway")
        self.rolled_out()

    def kvs(self, *arguments: str) -> Any:
        """The guide's way to the command line in a pod; its JSON."""
        printed = self.shell_with_kvs(f"kvs {shlex.join(arguments)}")
        return json.loads(printed) if printed.strip() else None

    def shell_with_kvs(self, script: str, until: str | None = None) -> str:
        """For scripts that go on where the guide has defined that function."""
        return self.shell(f"{self._kvs}{script}", until)

    def caller(self, app: str, table: str) -> Caller:
        """Of a new table of an app without a limit, which every pod has heard of."""
        named = ("--org", "acme", "--app", app)
        self.kvs("apps", "register", *named, "--type", "api", "--requests-per-minute", NO_LIMIT)
        made = self.kvs("tables", "create", *named, "--name", table)
        issued = self.kvs("credentials", "issue", "--role", ROLE.format(app=app))
        signer = Signer(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])
        address = (self.service_address(NAMESPACE, "kvs-gateway"), 80)
        caller = Caller(my_gateway.HOST, address, made["token"], signer)
        self.until(lambda: all(caller.is_known_at(pod["status"]["podIP"]) for pod in self.pods()))
        return caller

    def service_address(self, namespace: str, name: str) -> str:
        return self.kubectl.get("--namespace", namespace, "service", name)["spec"]["clusterIP"]

    def all_pods(self) -> list[dict[str, Any]]:
        """The gateway's."""
        return self.here_get("pods", f"--selector={PODS}")

    def pods(self) -> list[dict[str, Any]]:
        """Those of them that are not being deleted."""
        return [pod for pod in self.all_pods() if "deletionTimestamp" not in pod["metadata"]]

    def here(self, *arguments: str, **options: str) -> str:
        """kubectl in the gateway's namespace."""
        return self.kubectl("--namespace", NAMESPACE, *arguments, **options)

    def here_get(self, *arguments: str) -> Any:
        return self.kubectl.get("--namespace", NAMESPACE, *arguments)

    def rolled_out(self, namespace: str = NAMESPACE, name: str = "kvs-gateway") -> None:
        place = ("--namespace", namespace, f"deployment/{name}")
        self.kubectl("rollout", "status", *place, "--timeout=180s")

    def with_replicas(self, replicas: int) -> None:
        """So many, and no autoscaler that changes their number."""
        self.here("delete", "horizontalpodautoscaler", "kvs-gateway", "--ignore-not-found")
        self.here("scale", DEPLOYMENT, f"--replicas={replicas}")
        self.settled(replicas)

    def settled(self, replicas: int) -> None:
        """Until so many are there and ready, and none is on its way out."""

        def is_so() -> bool:
            pods = self.all_pods()
            return len(pods) == replicas and all(map(is_ready, pods))

        self.until(is_so)

    def until(self, condition: Callable[[], bool], seconds: float = 180.0) -> None:
        """What the API server tells is asked twice a second."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.here("get", "pods,events")
            time.sleep(0.5)


def is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", [])}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def _script(beginning: str) -> str:
    """The one of the guide that begins so."""
    scripts = [each for each in SCRIPTS if each.startswith(beginning)]
    assert len(scripts) == 1, scripts
    return scripts[0]
