"""The AWS command line, version 1, in an environment of its own.

It cannot print its credentials, so it uses them: a service model adds the gateway's calls to the AWS CLI.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.config import TABLE_TOKEN
from tests.system.workloads.conftest import Pod

FOLDER = Path(__file__).with_name("aws")


def install(folder: Path) -> Path:
    """Installs the program into `folder` and returns its path."""
    requirements = str(FOLDER / "requirements.txt")
    _run(sys.executable, "-m", "venv", str(folder))
    _run(str(folder / "bin" / "pip"), "install", "--quiet", "--requirement", requirements)
    return folder / "bin" / "aws"


class CommandLine:
    """`aws kvs …` in a pod."""

    def __init__(self, program: Path, pod: Pod) -> None:
        self._program = program
        models = {"AWS_DATA_PATH": str(FOLDER / "models"), "AWS_ENDPOINT_URL_KVS": pod.data}
        self._variables = pod.variables | models | {"HOME": str(program.parents[1])}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Starts a command."""
        token = ("--authorization", f"Bearer {TABLE_TOKEN}")
        return subprocess.Popen(
            [str(self._program), "kvs", *words, *token],
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> Any:
        """Runs a command and returns its output."""
        return finish(self.start(*words))


def finish(process: subprocess.Popen[str]) -> Any:
    """Waits for the process and returns its output as JSON, or None if there is none."""
    with process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(output) if output else None


def _run(*command: Sequence[str] | str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
