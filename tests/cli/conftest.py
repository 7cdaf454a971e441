"""The command line, run inside the test process, alone or against a gateway of the same process."""

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from gateway.cli.main import main
from tests.support.config import CONTROL_TOKEN

BLOG = ("--org", "acme", "--app", "blog")


@dataclass(frozen=True)
class Result:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def refusal(self) -> Any:
        """The error without its detail, which every refusal of the gateway has."""
        error = self.error
        assert error.pop("detail")
        return error

    @property
    def error(self) -> Any:
        return json.loads(self.err)


@pytest.fixture(autouse=True)
def logging_as_before():
    """Restores logging: `serve` sends the log to standard error, where other commands report errors."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def command(capsys, monkeypatch):
    """Runs a command with a control token, and without a gateway."""
    monkeypatch.delenv("KVS_CONTROL_URL", raising=False)
    monkeypatch.setenv("KVS_CONTROL_TOKEN", CONTROL_TOKEN)

    async def command(*arguments: str) -> Result:
        capsys.readouterr()
        code = await asyncio.to_thread(main, list(arguments))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return command


@pytest.fixture
def run(gateway, command, monkeypatch):
    """Runs a command; its environment names the gateway and the control token."""
    monkeypatch.setenv("KVS_CONTROL_URL", gateway.control)
    return command


@pytest.fixture
async def blog(run):
    """Runs a command, after the app blog was registered."""
    await run("apps", "register", *BLOG, "--type", "api")
    return run
