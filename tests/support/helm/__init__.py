"""Renders the chart with the helm that is there."""

import functools
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.coverage import not_covered


@functools.cache
def helm() -> str:
    """The program. Without one the test is skipped; in CI nothing may go unchecked."""
    own = shutil.which("helm") or shutil.which("helm", path=sysconfig.get_path("scripts"))
    if own is None:
        not_covered("the chart is not checked: there is no helm; `make helm` builds one")
    return own


def run(*words: str | Path, values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Helm with these words, and with `values` on its standard input. No network and no cluster are used."""
    given = [] if values is None else ["--values", "-"]
    offline = {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9", "KUBECONFIG": os.devnull}
    return subprocess.run(
        [helm(), *words, *given],
        input=None if values is None else yaml.safe_dump(dict(values)),
        env=offline,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def template(
    chart: Path, values: Mapping[str, Any], *words: str, release: str = "kvs-gateway"
) -> subprocess.CompletedProcess[str]:
    """The chart as a release in the namespace `kvs-gateway`."""
    return run("template", release, chart, "--namespace", "kvs-gateway", *words, values=values)


def render(
    chart: Path, values: Mapping[str, Any], *words: str, release: str = "kvs-gateway"
) -> list[dict[str, Any]]:
    """The objects that `helm install` would send."""
    done = template(chart, values, *words, release=release)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]
