"""Machine, versions and load of a measurement."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from benchmarks import redis
from benchmarks.peers import daprd, nginx, webdis
from benchmarks.processes import find_program

_LOOK_SECONDS = 3.0
_LIBRARIES = ("aiohttp", "uvloop", "msgspec", "aiobotocore", "ministack")


def describe_machine() -> dict[str, str]:
    """Processor, system, versions; then the moment."""
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "libraries": libraries,
        "servers": ", ".join(_servers()),
        **describe_moment(),
    }


def describe_moment() -> dict[str, str]:
    """When, of what, and beside what."""
    return {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "used by others": f"{psutil.cpu_percent(_LOOK_SECONDS):.0f} %",
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _commit() -> str:
    commit = _output("git", "rev-parse", "--short=12", "HEAD")
    changed = _output("git", "status", "--porcelain", "--untracked-files=no", "gateway", "backends")
    return f"{commit or 'unknown'}{' with changes' if changed else ''}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.machine()


def _servers() -> list[str]:
    found = []
    if program := find_program(redis.PROGRAM):
        found.append(" ".join(_output(program, "--version").split()[:3]).replace(" server v=", " "))
    if program := find_program(nginx.PROGRAM):
        found.append(_output(program, "-v").rpartition(": ")[2].replace("/", " "))
    if program := daprd.find():
        found.append(f"daprd {program.rpartition('-')[2]}")
    if find_program(webdis.PROGRAM):
        found.append("webdis")
    return found


def _output(*command: str) -> str:
    """Returns the output of a program on both streams; "" if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=10, text=True)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).strip()
