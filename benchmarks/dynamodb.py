"""What a call of DynamoDB costs the process that makes it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

import msgspec

from benchmarks.processes import GENERATOR_CORE, SERVER_CORE, accepts, free_port, pin, running

CALLS = {"gateway": 10_000, "aiobotocore": 3_000}

_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIDBENCH", "AWS_SECRET_ACCESS_KEY": "bench-secret-access-key"}


def cost_rows(rounds: int) -> Iterator[str]:
    """One row per operation, against an endpoint that answers at once."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.canned", str(port)]
    with running(command, GENERATOR_CORE, lambda: accepts(port)):
        measured = {client: [_costs(client, port) for _ in range(rounds)] for client in CALLS}
    for operation in measured["gateway"][0]:
        figures = [
            f"{median(costs):.0f} ({min(costs):.0f} to {max(costs):.0f})"
            for client in CALLS
            for costs in [[each[operation] for each in measured[client]]]
        ]
        yield f"| {operation} | {' | '.join(figures)} |"


def _costs(client: str, port: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.calls", client, f"http://127.0.0.1:{port}", str(CALLS[client])],
        capture_output=True,
        check=True,
        env={**os.environ, **_CREDENTIALS},
        preexec_fn=pin(SERVER_CORE),
    )
    return msgspec.json.decode(done.stdout, type=dict[str, float])
