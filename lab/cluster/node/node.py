"""Starts a node, loads its images, and waits until it is ready."""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from lab.cluster.kubectl import Kubectl
from lab.cluster.node.certificates import issue
from lab.cluster.node.components import CONTAINERD, commands, write_configuration
from lab.cluster.step import run, step

MANIFESTS = Path(__file__).parent / "manifests"
PATIENCE_SECONDS = 60.0


class Node:
    """Everything in `folder`; what is started ends with the namespaces."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs
        self.kubectl = Kubectl(programs / "kubectl", folder / "certificates" / "admin.kubeconfig")
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, images: Mapping[str, Path]) -> None:
        """Returns when the node is ready and names are resolved."""
        issue(self.folder / "certificates")
        write_configuration(self.folder)
        with step("control plane"):
            for name, arguments in commands(self.folder):
                if name == "kube-apiserver":
                    self._wait("etcd", "http://127.0.0.1:2379/health")
                if name == "kubelet":
                    self._load(images)
                self._launch(name, [self._program(name), *arguments])
                if name == "kube-apiserver":
                    self._until(name, lambda: self.kubectl.succeeds("get", "--raw", "/readyz"))
        for name in ("policies", "discovery"):
            command = [sys.executable, "-m", f"lab.cluster.node.{name}", str(self.kubectl.kubeconfig)]
            self._launch(name, command)
        with step("node"):
            self._until("kubelet", lambda: self.kubectl.succeeds("get", "node", "node"))
            self.kubectl("wait", "node/node", "--for=condition=Ready", "--timeout=60s")
        with step("name service, definitions of resources"):
            self.kubectl("apply", "--server-side", "-f", self._programs / "definitions")
            self.kubectl("apply", "-f", MANIFESTS)
            self.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
            place = ("--namespace", "kube-system", "deployment/coredns")
            self.kubectl("rollout", "status", *place, "--timeout=120s")

    def load(self, archive: Path, *names: str) -> None:
        """Imports an image, also under further names."""
        self._ctr("import", str(archive))
        for name in names:
            self.name(_name_in(archive), name)

    def name(self, image: str, name: str) -> None:
        self._ctr("tag", "--force", image, name)

    def digest(self, image: str) -> str:
        """Digest of the manifest, as a registry would state it."""
        for line in self._ctr("ls", f"name=={image}").splitlines()[1:]:
            return line.split()[2]
        raise LookupError(image)

    def signal(self, name: str, number: int) -> None:
        """For a component of the node."""
        self._running[name].send_signal(number)

    def _load(self, images: Mapping[str, Path]) -> None:
        self._until("containerd", Path(CONTAINERD).exists)
        for archive in images.values():
            self.load(archive)

    def _ctr(self, *arguments: str) -> str:
        return run("ctr", "--address", CONTAINERD, "--namespace", "k8s.io", "images", *arguments)

    def _program(self, name: str) -> str:
        built = self._programs / name
        return str(built) if built.exists() else name

    def _launch(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def _wait(self, name: str, url: str) -> None:
        def answers() -> bool:
            try:
                with urlopen(url, timeout=1):
                    return True
            except (URLError, OSError):
                return False

        self._until(name, answers)

    def _until(self, name: str, condition) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if self._running[name].poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name}: {(self.folder / f'{name}.log').read_text()[-2000:]}")
            time.sleep(0.05)


def _name_in(archive: Path) -> str:
    """Returns the name of the image in an archive."""
    index = run("tar", "--extract", "--to-stdout", "--file", archive, "index.json")
    return index.partition('org.opencontainers.image.ref.name":"')[2].partition('"')[0]
