"""Signers for JavaScript, one script each in `node/`; where there is no Node there is nothing to try."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.system.signers.runtime import CALLS, Answers, Runtime

FOLDER = Path(__file__).parent / "node"
LOCK = FOLDER / "package-lock.json"
MODULES = FOLDER / "node_modules"
INSTALLED = MODULES / ".installed"
INSTALL = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]


@cache
def install() -> None:
    """Install what the lock file says beside the scripts, unless it is there."""
    if INSTALLED.exists() and INSTALLED.read_bytes() == LOCK.read_bytes():
        return
    with TemporaryDirectory() as scratch:
        for file in (LOCK, FOLDER / "package.json"):
            shutil.copy(file, scratch)
        done = subprocess.run(INSTALL, cwd=scratch, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        shutil.copytree(Path(scratch) / "node_modules", MODULES, symlinks=True, dirs_exist_ok=True)
    shutil.copy(LOCK, INSTALLED)


def call_with_node(script: str, runtime: Runtime) -> Answers:
    install()
    calls = json.dumps(CALLS)
    env = {"PATH": os.environ["PATH"], **runtime.variables}
    done = subprocess.run(
        ["node", str(FOLDER / script), calls],
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _signers() -> dict[str, Callable[[Runtime], Answers]]:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return {}
    scripts = ("aws4", "aws4fetch", "smithy")
    return {script: partial(call_with_node, f"{script}.mjs") for script in scripts}


SIGNERS = _signers()
