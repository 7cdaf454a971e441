"""The programs of a cluster, built from modules of the Go module proxy.

`go.mod` names them, here and in `metrics`; `coredns` and `pause` no module has as they are needed here.
"""

import hashlib
import os
import subprocess
from pathlib import Path

from lab.cluster.step import Missing, step

SOURCES = Path(__file__).parent
KUBERNETES = "v1.34.4"
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
CERT_MANAGER = "github.com/cert-manager/cert-manager@v1.18.2"
DEFINITIONS = {
    OPERATOR: ("podmonitors.yaml", "prometheusrules.yaml"),
    CERT_MANAGER: ("certificates.yaml", "clusterissuers.yaml"),
}
"""Modules whose zips hold resources of operators, and the endings of the files that are taken."""

_VERSION = "k8s.io/component-base/version"
_FLAGS = f"-s -w -X {_VERSION}.gitVersion={KUBERNETES} -X {_VERSION}.gitMajor=1 -X {_VERSION}.gitMinor=34"
_BUILDS = ((SOURCES, ("./coredns", "./pause")), (SOURCES, ("tool",)), (SOURCES / "metrics", ("tool",)))


def programs(cache: Path) -> Path:
    """The folder with all of them, built if no folder is there for these sources and this Go.

    Raises Missing where there is no Go. A build that fails leaves nothing of itself but Go's own caches.
    """
    target = cache / f"programs-{_key()}"
    if not target.exists():
        with step("programs from the Go module proxy; the first time takes minutes"):
            _build(target)
    return target


def _key() -> str:
    """Digest of the sources and the version of Go."""
    digest = hashlib.sha256(_go("env", "GOVERSION").encode())
    for file in sorted(SOURCES.rglob("*")):
        if file.suffix in {".go", ".mod", ".sum", ".py"}:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _build(target: Path) -> None:
    new = target.with_suffix(f".{os.getpid()}")
    new.mkdir(parents=True)
    for module, packages in _BUILDS:
        _go("build", "-p", "2", "-trimpath", "-ldflags", _FLAGS, "-o", f"{new}/", *packages, module=module)
    (new / "server").rename(new / "etcd")  # named after the folder of its module
    _take_definitions(new / "definitions")
    for old in target.parent.glob("programs-*"):
        if old != new:
            _remove(old)
    new.rename(target)


def _take_definitions(target: Path) -> None:
    """Custom resources that the manifests use, without the lines that only a chart fills in."""
    target.mkdir()
    for module, endings in DEFINITIONS.items():
        folder = _go("mod", "download", "-json", module).partition('"Dir": "')[2].partition('"')[0]
        for file in Path(folder).rglob("*.yaml"):
            if file.name.endswith(endings) and "crd" in file.parent.name:
                lines = file.read_text().splitlines(keepends=True)
                (target / file.name).write_text("".join(line for line in lines if "{{" not in line))


def _remove(folder: Path) -> None:
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    folder.rmdir()


def _go(*arguments: str, module: Path = SOURCES) -> str:
    """Programs are static, so that an image needs nothing beside them."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    try:
        done = subprocess.run(
            ["go", *arguments], cwd=module, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise Missing("Go 1.26 or newer, to build Kubernetes with") from None
    if done.returncode:
        raise Missing(f"what `go {arguments[0]}` fetches or builds: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip()
