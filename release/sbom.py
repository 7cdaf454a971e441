"""The bill of materials in CycloneDX: what runs with the gateway, at the versions of `requirements.lock`.

The image installs the same packages; those of its base are in the base's own bill of materials.
"""

import sys
from pathlib import Path

from release.commands import run
from release.installed import fresh_environment

_PROJECT = """\
[project]
name = "kvs-gateway"
version = "{version}"
description = "An authenticated, rate-limited, metered key-value edge over memory, Redis and DynamoDB"
license = "Apache-2.0"
"""


def write_sbom(wheel: Path, lock: Path, version: str, target: Path, folder: Path) -> None:
    """Made of an environment that is installed as the image's is. Raises CommandError."""
    python = fresh_environment(folder / "locked")
    run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", lock)
    # by name, not by file: so nothing says where the file was
    found = ("--no-index", "--find-links", wheel.parent, f"kvs-gateway=={version}")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", *found)
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    project = folder / "pyproject.toml"
    project.write_text(_PROJECT.format(version=version))
    cyclonedx = (sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible")
    run(*cyclonedx, "--pyproject", project, "--mc-type", "application", "--output-file", target, python)
