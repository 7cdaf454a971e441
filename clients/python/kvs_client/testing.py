"""A pytest plugin: a gateway in memory for the whole run, with fixtures for both clients.

It runs `kvs-gateway dev`: install `kvs-gateway` next to the tests, or set its command in
`KVS_GATEWAY_COMMAND`.

kvs_gateway        its environment variables, by name
kvs_environment    the same variables, set for one test
"""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

COMMAND_VARIABLE = "KVS_GATEWAY_COMMAND"
TABLE = "sessions"
"""The table of the gateway."""

_STOPPING_SECONDS = 60


@contextmanager
def run_gateway() -> Iterator[dict[str, str]]:
    """Runs `kvs-gateway dev`; yields the variables that its callers need, with credentials."""
    command = shlex.split(os.environ.get(COMMAND_VARIABLE, "kvs-gateway"))
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(
            f"{command[0]} is not installed: pip install kvs-gateway, or set {COMMAND_VARIABLE}"
        )
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(  # noqa: S603 - the developer's own command
            [*command, "dev", "--port", str(_free_port())], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield _printed_variables(process)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_STOPPING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="session")
def kvs_gateway() -> Iterator[dict[str, str]]:
    """Variables of a gateway that runs for the whole session, with the table `sessions`."""
    with run_gateway() as variables:
        yield variables


@pytest.fixture
def kvs_environment(kvs_gateway: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Sets the variables of `kvs_gateway`, so that `from_env("sessions")` works."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in kvs_gateway.items():
        monkeypatch.setenv(name, value)
    return kvs_gateway


def _printed_variables(process: "subprocess.Popen[str]") -> dict[str, str]:
    """Reads the lines `export NAME=VALUE`, until the gateway listens."""
    variables: dict[str, str] = {}
    for line in process.stdout or ():
        if "/v1/put" in line:
            return variables
        if line.startswith("export "):
            name, _, value = shlex.split(line)[1].partition("=")
            variables[name] = value
    raise RuntimeError("kvs-gateway dev ended before it was ready")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
