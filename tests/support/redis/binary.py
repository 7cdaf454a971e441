"""The redis-server of the tests: its path, version and features."""

import functools
import re
import shutil
import subprocess
import sysconfig

import pytest


@functools.cache
def server_binary() -> str:
    """Returns the machine's redis-server, else the one that `make test` has installed beside Python."""
    found = shutil.which("redis-server") or shutil.which("redis-server", path=sysconfig.get_path("scripts"))
    if found is None:
        pytest.fail("there is no redis-server: `make test` installs one")
    return found


@functools.cache
def server_version() -> tuple[int, ...]:
    shown = _output("--version")
    match = re.search(r"v=(\d+)\.(\d+)\.(\d+)", shown)
    assert match, shown
    return tuple(int(part) for part in match.groups())


@functools.cache
def speaks_tls() -> bool:
    """Whether the server was built with TLS: only one without it rejects the directive itself."""
    return "Bad directive" not in _output("--port", "0", "--tls-port", "1")


def _output(*arguments: str) -> str:
    done = subprocess.run(
        [server_binary(), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=10,
        check=False,
    )
    return done.stdout
