"""The command line, run inside the test against a gateway that runs there, too."""

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
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def refusal(self) -> Any:
        """The error without what explains it, which every refusal of the gateway has."""
        error = self.error
        assert error.pop("detail")
        return error

    @property
    def error(self) -> Any:
        return json.loads(self.err)


@pytest.fixture(autouse=True)
def logging_as_before():
    """`serve` sends the log of the process to standard error, where other commands explain failures."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def run(gateway, capsys, monkeypatch):
    """Run a command; its environment names the gateway and the control token."""
    monkeypatch.setenv("KVS_CONTROL_URL", gateway.control)
    monkeypatch.setenv("KVS_CONTROL_TOKEN", CONTROL_TOKEN)

    async def run(*arguments: str) -> Result:
        capsys.readouterr()
        code = await asyncio.to_thread(main, list(arguments))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
async def blog(run):
    """The command line, with the blog app registered."""
    await run("apps", "register", *BLOG, "--type", "api")
    return run
