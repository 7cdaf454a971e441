"""Installs built packages into fresh environments, starts them and uses them."""

import json
import sys
from pathlib import Path

from release.commands import CommandError, run

_PUT_AND_GET = """\
import os
from kvs_client import from_env
from kvs_client.testing import run_gateway

with run_gateway() as variables:
    os.environ.update(variables)
    sessions = from_env("sessions")
    sessions.put("greeting", {"text": "hello"})
    print(sessions.get("greeting").value["text"])
"""


def fresh_environment(folder: Path) -> Path:
    """Creates an empty virtual environment and returns its Python."""
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin/python"


def try_gateway(package: Path, client: Path, version: str, folder: Path) -> None:
    """Installs the packages of gateway and client, then puts and gets an entry. Raises CommandError."""
    python = fresh_environment(folder)
    # the client's testing module, which starts the gateway, is a pytest plugin
    run(python, "-m", "pip", "install", "--quiet", package, client, "pytest")
    command = folder / "bin/kvs-gateway"
    stated = json.loads(run(command, "--version", folder=folder))["version"]
    if stated != version:
        raise CommandError(f"{package.name} states version {stated} instead of {version}")
    config = folder / "config.yaml"
    config.write_text(run(command, "dev", "--print-config", folder=folder))
    run(command, "check", "--config", config, folder=folder)
    environ = {"KVS_GATEWAY_COMMAND": str(command)}
    if run(python, "-c", _PUT_AND_GET, folder=folder, environ=environ) != "hello\n":
        raise CommandError(f"{package.name}: a get does not return the value of the put")
