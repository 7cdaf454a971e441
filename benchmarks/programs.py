"""Programs that measure in a process of their own, and write what they have found as JSON."""

import subprocess
import sys
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from benchmarks.processes import SERVER_CORE, Unmeasurable, pin

Measured = TypeVar("Measured")


def program_output(
    module: str, arguments: Sequence[object], kind: type[Measured], seconds: float, *, is_pinned: bool = True
) -> Measured:
    """What a module writes; on the core of the servers, if it is pinned. Raises Unmeasurable."""
    words = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in arguments]
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            capture_output=True,
            check=False,
            preexec_fn=pin(SERVER_CORE) if is_pinned else None,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise Unmeasurable(f"{module} did not come to its end within {seconds:g} s") from None
    if done.returncode != 0:
        told = done.stderr.decode().strip().splitlines()
        raise Unmeasurable(f"{module}: {told[-1] if told else 'it said nothing'}")
    return msgspec.json.decode(done.stdout.strip().splitlines()[-1], type=kind)
