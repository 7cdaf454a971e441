"""The bill of materials in CycloneDX: the gateway and its dependencies as locked in `requirements.lock`.

The image installs the same packages; those of its base image are in that image's bill of materials.
"""

import sys
from pathlib import Path

from release.commands import run
from release.installed import fresh_environment

_PROJECT = """\
[project]
name = "kvs-gateway"
version = "{version}"
description = "An authenticated, rate-limited, metered key-value gateway for memory, Redis and DynamoDB"
license = "Apache-2.0"
"""


def write_sbom(wheel: Path, lock: Path, version: str, target: Path, folder: Path) -> None:
    """Lists an environment that is installed like that of the image. Raises CommandError."""
    python = fresh_environment(folder / "locked")
    run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", lock)
    # by name instead of path, because pip records the path of a file in the environment
    found = ("--no-index", "--find-links", wheel.parent, f"kvs-gateway=={version}")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", *found)
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    project = folder / "pyproject.toml"
    project.write_text(_PROJECT.format(version=version))
    cyclonedx = (sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible")
    run(*cyclonedx, "--pyproject", project, "--mc-type", "application", "--output-file", target, python)
