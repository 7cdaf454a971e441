"""Runs a generator on its core against a server, and takes nothing but good answers."""

import os
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from benchmarks.closed import Throughput
from benchmarks.exchange import GOOD, Exchange, write_exchanges
from benchmarks.processes import GENERATOR_CORE, pin
from benchmarks.steady import Latency

CLOSED_CONNECTIONS = 64
STEADY_CONNECTIONS = 16
STEADY_PER_SECOND = 1000


def measure_throughput(port: int, exchanges: Sequence[Exchange], seconds: float) -> Throughput:
    """As many as the server answers."""
    output = _generate("closed", exchanges, port, CLOSED_CONNECTIONS, seconds)
    throughput = msgspec.json.decode(output, type=Throughput)
    _require_good(throughput.verdicts)
    return throughput


def measure_latency(port: int, exchanges: Sequence[Exchange], seconds: float) -> Latency:
    """At a fixed rate."""
    output = _generate("steady", exchanges, port, STEADY_CONNECTIONS, seconds, STEADY_PER_SECOND)
    latency = msgspec.json.decode(output, type=Latency)
    _require_good(latency.verdicts)
    return latency


def _generate(module: str, exchanges: Sequence[Exchange], *arguments: float) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)],
        input=write_exchanges(exchanges),
        capture_output=True,
        check=False,
        preexec_fn=_behind_redis,
    )
    if done.returncode != 0:
        raise SystemExit(f"the {module} generator failed\n{done.stderr.decode()}")
    return done.stdout


def _require_good(verdicts: dict[str, int]) -> None:
    if set(verdicts) != {GOOD}:
        raise SystemExit(f"not every answer was good: {verdicts}")


def _behind_redis() -> None:
    """On the core that Redis has, too, which must not wait for a generator that polls."""
    pin(GENERATOR_CORE)()
    os.nice(19)
