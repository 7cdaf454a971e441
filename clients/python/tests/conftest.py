"""Where the gateway is that the tests start."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session", autouse=True)
def gateway_command():
    """The checkout's own, in the environment beside this one, unless the environment says otherwise."""
    beside = Path(sys.prefix).parents[1] / "bin" / "kvs-gateway"
    os.environ.setdefault("KVS_GATEWAY_COMMAND", str(beside))
