"""The gateway on the cluster, installed by the blocks of deploy/README.md, and what stands beside it."""

import base64
import json
import re
import shlex
import shutil
from collections.abc import Mapping
from typing import Any

from lab.cluster import manifests, my_gateway
from lab.cluster.authority import Authority
from lab.cluster.deployed import Deployed
from lab.cluster.images import GATEWAY
from lab.cluster.load import Caller
from lab.cluster.node.node import Node
from lab.cluster.shell import Shell
from tests.support.signing import Signer
from tests.system.deploy.guide import FIRST_PUT, SCRIPTS, marked
from tests.system.deploy.installations import DEPLOY

NAMESPACE = "kvs-gateway"
ROLE = "arn:aws:iam::123456789012:role/managed-app-{app}"
NO_LIMIT = "1000000000"


class Site(Deployed):
    """`folder` is where the guide is followed: `deploy` and `my-gateway` lie in it."""

    def __init__(self, node: Node, namespace: str = NAMESPACE, database: int = 0) -> None:
        """`database` is the number of Redis's that is this site's own."""
        super().__init__(node.kubectl, namespace)
        self.node, self._database = node, database
        self.folder = node.folder / "guide" / namespace
        self._authority = Authority()
        self._has_listeners = False
        kvs = re.search(r"^kvs\(\) \{.*?^\}\n", FIRST_PUT, re.DOTALL | re.MULTILINE)[0]
        self._kvs = self.script(kvs)
        self.first_put = ""

    def script(self, text: str) -> str:
        """One of the guide's, for this namespace."""
        return re.sub(rf"(\bnamespace) {NAMESPACE}\b(?!-)", rf"\1 {self.namespace}", text)

    def prepare(self) -> None:
        """Step 2 of the guide: the namespace and its Secret."""
        shutil.copytree(DEPLOY, self.folder / "deploy")
        self.shell = Shell(self.folder)
        self.shell.offer("kubectl", *self.kubectl.command)
        script = self.script(_script("kubectl create namespace kvs-gateway"))
        self.shell(re.sub(r"rediss?://[^']*", f"{manifests.REDIS_URL}/{self._database}", script))

    def install(self) -> None:
        """Steps 2 to 6 of the guide, beside what an operator brings."""
        image = f"{GATEWAY}:now"
        self.kubectl.apply(*manifests.redis(), *manifests.prometheus(), *manifests.ingress(image))
        self.rolled_out("stores", "redis")
        self.rolled_out("monitoring", "prometheus")
        self.prepare()
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
        self._authority.issue(self.kubectl, self.namespace)
        self.rolled_out()
        self.with_replicas(2)
        self._kvs = marked("kvs over TLS")

    @property
    def authority(self) -> str:
        """The certificate of who has signed the listeners'."""
        return self._authority.certificate

    def secret(self, key: str) -> str:
        """Tokens that the guide's second step has made."""
        data = self.here_get("secret", "kvs-gateway")["data"]
        return base64.b64decode(data[key]).decode().strip()

    def write(self, image: str, configuration: Mapping[str, Any] | None = None, **options: Any) -> None:
        """`my-gateway` with an image that was loaded; options as there."""
        options.setdefault("listeners", self._has_listeners)
        my_gateway.write(self.folder / "my-gateway", self.publish(image), configuration, **options)

    def publish(self, image: str) -> str:
        """The digest by which the operator's registry has it."""
        digest = self.node.digest(f"{GATEWAY}:{image}")
        self.node.name(f"{GATEWAY}:{image}", f"{my_gateway.IMAGE}@{digest}")
        return digest

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
        """Token of a new table that every pod knows, of an app without a limit."""
        named = ("--org", "acme", "--app", app)
        self.kvs("apps", "register", *named, "--type", "api", "--requests-per-minute", NO_LIMIT)
        made = self.kvs("tables", "create", *named, "--name", table)
        issued = self.kvs("credentials", "issue", "--role", ROLE.format(app=app))
        signer = Signer(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])
        address = (self.service_address(self.namespace, "kvs-gateway"), 80)
        caller = Caller(my_gateway.HOST, address, made["token"], signer)
        self.until(lambda: all(caller.is_known_at(pod["status"]["podIP"]) for pod in self.pods()))
        return caller


def _script(beginning: str) -> str:
    """The one of the guide that begins so."""
    scripts = [each for each in SCRIPTS if each.startswith(beginning)]
    assert len(scripts) == 1, scripts
    return scripts[0]
