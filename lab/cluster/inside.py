"""Program inside the namespaces: the node first, then the proofs. `__main__` starts it."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.cluster.enclosure import adopt, furnish
from lab.cluster.given import Given
from lab.cluster.node.node import Node
from lab.cluster.report import Report

FOLDER = Path(__file__).parent
PROOFS = (
    "test_installation",
    "test_disturbances",
    "test_faults",
    "test_workloads",
    "test_policies",
    "test_usage",
    "test_upgrade",
    "test_chart",
)
"""In this order: the cluster is one, and what is billed at the end is what all have asked before."""

_LEFT = """
The cluster runs until Ctrl-C. From another terminal:

    {script} get pods --all-namespaces

Logs of the node are in {folder}.
"""


def main(task: dict[str, Any]) -> int:
    folder = Path(task["folder"])
    furnish(folder)
    status = adopt()
    if status is not None:
        return status
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
    os.environ["KVS_CLUSTER"] = str(folder)
    node = Node(folder, Path(task["programs"]))
    archives = {name: Path(file) for name, file in task["images"].items()}
    node.start(archives)
    report = Report()
    tests = task["tests"] or [str(FOLDER / f"{name}.py") for name in PROOFS]
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "--durations=15", "--tb=short", "-v"]
    result = pytest.main([*options, *tests], plugins=[Given(node, archives), report])
    report.write(Path(task["results"]) / "cluster.md")
    print("", *report.lines(), "", sep="\n", flush=True)
    if task["keep"]:
        _keep(node, folder)
    return int(result)


def _keep(node: Node, folder: Path) -> None:
    """`pid` is written by who has made the namespaces, and counts processes as the machine does."""
    script = folder / "kubectl"
    enter = f'nsenter --target "$(cat {folder}/pid)" --mount --net {" ".join(node.kubectl.command)}'
    script.write_text(f'#!/bin/sh\nexec {enter} "$@"\n')
    script.chmod(0o755)
    print(_LEFT.format(script=script, folder=folder), flush=True)
    signal.pause()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
