"""Small programs for the AWS SDKs of other languages. Missing languages are skipped."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent

Credentials = tuple[str, str, str]
"""Access key id, secret, session token."""

_NEEDED = {
    "aws-cli": ("aws",),
    "javascript": ("node", "npm"),
    "go": ("go",),
    "java": ("java", "javac", "mvn"),
}
PROGRAMS = tuple(_NEEDED)


def command_of(program: str, folder: Path) -> list[list[str]]:
    """Installs a program into `folder` and returns the commands to run. Skips if a tool is missing."""
    missing = [each for each in _NEEDED[program] if shutil.which(each) is None]
    if missing:
        pytest.skip(f"there is no {missing[0]}")
    if program == "aws-cli":
        version = subprocess.run(["aws", "--version"], capture_output=True, text=True, check=False).stdout
        if not version.startswith("aws-cli/2"):
            pytest.skip("the AWS CLI exports credentials from version 2 on")
        return [["aws", "configure", "export-credentials"]] * 2
    shutil.copytree(FOLDER / {"javascript": "node"}.get(program, program), folder, dirs_exist_ok=True)
    if program == "javascript":
        _install(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        return [["node", str(folder / "fetch.mjs")]]
    if program == "go":
        _install(folder, "go", "build", "-o", "fetch", ".")
        return [[str(folder / "fetch")]]
    copying = ("dependency:copy-dependencies", "-DoutputDirectory=jars")
    _install(folder, "mvn", "--batch-mode", "--quiet", *copying)
    _install(folder, "javac", "-cp", "jars/*", "Fetch.java")
    return [["java", "-cp", f"{folder}/jars/*:{folder}", "Fetch"]]


def fetched(commands: list[list[str]], variables: dict[str, str]) -> Iterator[Credentials]:
    """Yields each set of credentials as soon as it is printed."""
    for command in commands:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables, text=True
        ) as process:
            if command[0] == "aws":
                output, errors = process.communicate(timeout=60)
                assert process.returncode == 0, errors
                shown = json.loads(output)
                yield shown["AccessKeyId"], shown["SecretAccessKey"], shown["SessionToken"]
                continue
            for line in process.stdout or ():
                if line.startswith("["):
                    yield tuple(json.loads(line))
            assert process.wait() == 0, process.stderr and process.stderr.read()


def _install(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
