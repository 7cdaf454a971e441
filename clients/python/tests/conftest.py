"""The gateway command that the tests run."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session", autouse=True)
def gateway_command():
    """Sets the command of the checkout's environment, unless the variable is set."""
    beside = Path(sys.prefix).parents[1] / "bin" / "kvs-gateway"
    os.environ.setdefault("KVS_GATEWAY_COMMAND", str(beside))
