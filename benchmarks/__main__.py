"""Runs bare handler and gateway in turn, several rounds, and prints medians and their ratio."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from statistics import median

import yaml

from benchmarks.signed import gateway_config, signed_requests

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))
CONNECTIONS = 64
SERVER_CORE, GENERATOR_CORE = 0, 1


def main() -> None:
    """One row per operation."""
    print(f"{ROUNDS} rounds of {SECONDS:g} s, {CONNECTIONS} connections, 1 KiB values, one core each\n")
    print("| operation | bare aiohttp, requests/s | gateway on memory, requests/s | ratio (min to max) |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for operation in ("put", "get"):
            print(_row(operation, Path(folder)), flush=True)


def _row(operation: str, folder: Path) -> str:
    pairs = [(_rate_of_bare(operation), _rate_of_gateway(operation, folder)) for _ in range(ROUNDS)]
    ratios = sorted(gateway / bare for bare, gateway in pairs)
    bare, gateway = (median(rates) for rates in zip(*pairs, strict=True))
    spread = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return f"| {operation} | {bare:,.0f} | {gateway:,.0f} | {spread} |"


def _rate_of_bare(operation: str) -> float:
    port = _free_port()
    with _server([sys.executable, "-m", "benchmarks.bare", str(port)]):
        return _drive(port, operation)


def _rate_of_gateway(operation: str, folder: Path) -> float:
    port = _free_port()
    config = folder / "bench.yaml"
    config.write_text(yaml.safe_dump(gateway_config(port)))
    with _server([sys.executable, "-m", "gateway", "serve", "--config", str(config)]):
        if operation == "get":
            _drive(port, "put", seconds=0.5)
        return _drive(port, operation)


def _drive(port: int, operation: str, seconds: float = SECONDS) -> float:
    command = [sys.executable, "-m", "benchmarks.load", str(port), str(CONNECTIONS), str(seconds)]
    done = subprocess.run(
        command,
        input=signed_requests(port, operation),
        capture_output=True,
        check=True,
        preexec_fn=_pin(GENERATOR_CORE),
    )
    rates: dict[str, float] = json.loads(done.stdout)
    if set(rates) != {"200"}:
        raise SystemExit(f"not every request was answered 200: {rates}")
    return rates["200"]


@contextmanager
def _server(command: list[str]) -> Iterator[None]:
    """A server on its own core, stopped by its process id."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=_pin(SERVER_CORE)
    ) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise SystemExit(f"did not start: {command}")
        try:
            yield
        finally:
            process.kill()


def _pin(core: int) -> Callable[[], None]:
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cores[core % len(cores)]})


def _free_port() -> int:
    with create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main()
