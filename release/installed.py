"""Built packages, installed into fresh environments, started and used."""

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
    """The Python of a virtual environment that has nothing in it."""
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin/python"


def try_gateway(package: Path, client: Path, version: str, folder: Path) -> None:
    """Install packages of the gateway and of the client, and put and get with both. Raises CommandError."""
    python = fresh_environment(folder)
    # the client's testing module, which starts the gateway, is a plugin of pytest
    run(python, "-m", "pip", "install", "--quiet", package, client, "pytest")
    command = folder / "bin/kvs-gateway"
    stated = json.loads(run(command, "--version", folder=folder))["version"]
    if stated != version:
        raise CommandError(f"{package.name} says that it is {stated}, not {version}")
    config = folder / "config.yaml"
    config.write_text(run(command, "dev", "--print-config", folder=folder))
    run(command, "check", "--config", config, folder=folder)
    environ = {"KVS_GATEWAY_COMMAND": str(command)}
    if run(python, "-c", _PUT_AND_GET, folder=folder, environ=environ) != "hello\n":
        raise CommandError(f"{package.name}: a get does not show what was put")
