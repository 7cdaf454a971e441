"""Measurements in processes of their own, which write their figures as JSON."""

import subprocess
import sys
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from benchmarks.processes import SERVER_CORE, Unmeasurable, pin

Measured = TypeVar("Measured")


def program_output(
    module: str, arguments: Sequence[object], kind: type[Measured], seconds: float
) -> Measured:
    """Returns what a module writes, run on the core of the servers. Raises Unmeasurable."""
    words = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in arguments]
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            capture_output=True,
            check=False,
            preexec_fn=pin(SERVER_CORE),
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise Unmeasurable(f"{module} did not end within {seconds:g} s") from None
    if done.returncode != 0:
        errors = done.stderr.decode().strip().splitlines()
        raise Unmeasurable(f"{module}: {errors[-1] if errors else 'no output'}")
    return msgspec.json.decode(done.stdout.strip().splitlines()[-1], type=kind)
