"""Runs a generator on its core against a server, and takes nothing but good answers."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from benchmarks.closed import Throughput
from benchmarks.exchange import GOOD, Exchange, write_exchanges
from benchmarks.figures import Closed
from benchmarks.processes import GENERATOR_CORE, Server, Unmeasurable, pin
from benchmarks.steady import Latency

Found = TypeVar("Found", Throughput, Latency)

CLOSED_CONNECTIONS = 64
BUSY_SHARE = 0.02
"""Share of answers that may be refusals where times do not matter."""

STEADY_CONNECTIONS = 16

_UNAVAILABLE = "status 503"
_PATIENCE_SECONDS = 120.0
_LEAST_PER_SECOND = 100
"""On a machine that others use."""


def measure_throughput(
    server: Server,
    exchanges: Sequence[Exchange],
    seconds: float,
    connections: int = CLOSED_CONNECTIONS,
    *,
    refused_share: float = 0.0,
) -> Closed:
    """Raises Unmeasurable unless every answer was good.

    On a busy machine a store's deadline may pass: `refused_share` of the answers may be 503.
    """
    before = server.cpu_seconds()
    output = _generate("closed", exchanges, server.port, connections, seconds)
    cpu_seconds = server.cpu_seconds() - before
    throughput = _decode(output, Throughput)
    verdicts = throughput.verdicts
    if verdicts.get(_UNAVAILABLE, 0) <= refused_share * sum(verdicts.values()):
        verdicts.pop(_UNAVAILABLE, None)
    _require_good(verdicts)
    answered = verdicts[GOOD]
    return Closed(throughput.per_second, cpu_seconds / answered * 1e6, answered)


def measure_latency(
    server: Server, exchanges: Sequence[Exchange], seconds: float, per_second: int
) -> list[float]:
    """Milliseconds of every request at a fixed rate. Raises Unmeasurable unless every answer was good."""
    output = _generate("steady", exchanges, server.port, STEADY_CONNECTIONS, seconds, per_second)
    latency = _decode(output, Latency)
    _require_good(latency.verdicts)
    return latency.milliseconds


def _generate(module: str, exchanges: Sequence[Exchange], *arguments: float) -> bytes:
    given_up_seconds = float(arguments[2]) + _PATIENCE_SECONDS + len(exchanges) / _LEAST_PER_SECOND
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)],
            input=write_exchanges(exchanges),
            capture_output=True,
            check=False,
            preexec_fn=_behind_redis,
            timeout=given_up_seconds,
        )
    except subprocess.TimeoutExpired:
        raise Unmeasurable("the generator did not come to its end") from None
    if done.returncode != 0:
        output = done.stderr.decode().strip().splitlines()
        raise Unmeasurable(f"the {module} generator failed: {output[-1] if output else 'no output'}")
    return done.stdout


def _decode(output: bytes, kind: type[Found]) -> Found:
    try:
        return msgspec.json.decode(output, type=kind)
    except msgspec.DecodeError as error:
        end = output[-40:].decode(errors="replace")
        raise Unmeasurable(f"the generator's {len(output):,} bytes end in {end!r}: {error}") from None


def _require_good(verdicts: dict[str, int]) -> None:
    if set(verdicts) == {"not answered", GOOD}:
        raise Unmeasurable(f"the rate was not kept: {verdicts['not answered']:,} requests not answered")
    if set(verdicts) != {GOOD}:
        raise Unmeasurable(f"not every answer was good: {verdicts}")


def _behind_redis() -> None:
    """Runs on the core of Redis, which must not wait for a generator that polls."""
    pin(GENERATOR_CORE)()
    os.nice(5)
