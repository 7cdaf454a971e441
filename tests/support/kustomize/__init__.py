"""Renders Kubernetes manifests with the kustomize that is there: kubectl's, or its own program."""

import functools
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import yaml

from tests.support.coverage import not_covered


@functools.cache
def kustomize() -> tuple[str, ...]:
    """The command that renders a folder. Without one the test is skipped; in CI nothing may go unchecked."""
    if (kubectl := shutil.which("kubectl")) and _has_a_current_kustomize(kubectl):
        return (kubectl, "kustomize")
    own = shutil.which("kustomize") or shutil.which("kustomize", path=sysconfig.get_path("scripts"))
    if own is None:
        not_covered(
            "manifests are not checked: there is no kubectl or kustomize; `make manifests` installs one"
        )
    return (own, "build")


def _has_a_current_kustomize(kubectl: str) -> bool:
    """The one of kubectl 1.20 and older, which knows no components, is not in the output of the version."""
    done = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, check=False)
    return "kustomize" in done.stdout.lower()


def render(folder: Path) -> list[dict[str, Any]]:
    """The objects that `kubectl apply -k` would send. No network is used."""
    offline = {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    done = subprocess.run(
        [*kustomize(), str(folder)], env=offline, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return list(yaml.safe_load_all(done.stdout))
