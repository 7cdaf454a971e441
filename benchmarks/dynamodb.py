"""CPU per call of DynamoDB in the calling process."""

import os
import subprocess
import sys

import msgspec

from benchmarks.gateways import AWS
from benchmarks.plan import Plan
from benchmarks.processes import GENERATOR_CORE, SERVER_CORE, Unmeasurable, accepts, free_port, pin, running

CALLS = {"gateway": 10_000, "aiobotocore": 3_000}

_PATIENCE_SECONDS = 60.0


def measure_calls(plan: Plan) -> dict[str, list[dict[str, float]]]:
    """For each client the microseconds by operation, by round; the endpoint answers at once."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.canned", str(port)]
    with running(command, GENERATOR_CORE, lambda: accepts(port)):
        return {client: [_costs(client, port) for _ in range(plan.call_rounds)] for client in CALLS}


def _costs(client: str, port: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.calls", client, f"http://127.0.0.1:{port}", str(CALLS[client])],
        capture_output=True,
        check=False,
        env={**os.environ, **AWS},
        preexec_fn=pin(SERVER_CORE),
        timeout=_PATIENCE_SECONDS,
    )
    if done.returncode != 0:
        raise Unmeasurable(f"{client}: {done.stderr.decode().strip().splitlines()[-1]}")
    return msgspec.json.decode(done.stdout, type=dict[str, float])
