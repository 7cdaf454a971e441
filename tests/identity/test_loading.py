"""Large, rarely needed libraries are loaded on first use (D173)."""

import subprocess
import sys

import yaml

from tests.support.config import BASE

_BUILT = """
import asyncio, sys
from gateway.app import build_app
from gateway.config.loading import parse
asyncio.run(build_app(parse(sys.stdin.read(), {})))
print(sorted({"cryptography", "jwt"} & set(sys.modules)))
"""


def test_a_replica_that_trusts_no_issuer_loads_no_cryptography():
    done = subprocess.run(
        [sys.executable, "-c", _BUILT], input=yaml.safe_dump(BASE), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
