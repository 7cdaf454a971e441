"""`make cluster`: a real cluster of one node, the proofs that run on it, and one table of them."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from lab.cluster.enclosure import run_enclosed
from lab.cluster.images import Images
from lab.cluster.machine import prepare
from lab.cluster.programs import programs
from lab.cluster.step import Missing
from tests.support.repository import ROOT

BEFORE = "c094197"
"""The last commit before there was a cluster to try an upgrade on."""


def main(arguments: argparse.Namespace) -> int:
    """The exit status: 0 if every proof holds."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kvs-gateway-cluster"
    cache.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        prepare()
        built = programs(cache)
    except Missing as missing:
        print(f"make cluster needs {missing}", file=sys.stderr)
        return 1
    images = Images(cache, built)
    archives = images.servers() | {"now": images.gateway(ROOT, "now")}
    with _commit(arguments.before) as source:
        archives["before"] = images.gateway(source, "before")
    with tempfile.TemporaryDirectory(dir=cache, prefix="run-", ignore_cleanup_errors=True) as folder:
        task = {
            "folder": folder,
            "programs": str(built),
            "images": {name: str(archive) for name, archive in archives.items()},
            "before": arguments.before,
            "keep": arguments.keep,
            "tests": arguments.tests,
            "results": str(ROOT / "build"),
        }
        command = [sys.executable, "-m", "lab.cluster.inside", json.dumps(task)]
        status = run_enclosed(command, ROOT, Path(folder))
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes; nothing is left but {cache}")
    return status


@contextmanager
def _commit(name: str) -> Iterator[Path]:
    """A folder with the files of a commit."""
    done = subprocess.run(["git", "archive", name], cwd=ROOT, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.cluster", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the cluster for a look, until Ctrl-C")
    parser.add_argument("--before", default=BEFORE, help="the commit that is upgraded from")
    parser.add_argument("tests", nargs="*", help="arguments of pytest, in place of all proofs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_arguments()))
