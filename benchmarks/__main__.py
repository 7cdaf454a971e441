"""Measures every subject in turn, several rounds; prints medians, and ratios within the same round."""

import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks import generators
from benchmarks.dynamodb import cost_rows
from benchmarks.generators import measure_latency, measure_throughput
from benchmarks.redis import running_redis
from benchmarks.steady import Latency
from benchmarks.subjects import Subject, subjects

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))

_FILL_SECONDS = 0.5

_THROUGHPUT = f"""\
{ROUNDS} rounds of {SECONDS:g} s, {generators.CLOSED_CONNECTIONS} connections, values of 1 KiB.
The server under test has one core (webdis: one worker thread); the generator and Redis share the other.

| operation | server | requests/s | of bare aiohttp (min to max) |
| --- | --- | --- | --- |"""

_UNEQUAL = """
Unequal services: webdis checks no signature, binds no caller to a table, limits no rate, meters nothing."""

_LATENCY = f"""
{generators.STEADY_PER_SECOND:,} requests/s over {generators.STEADY_CONNECTIONS} connections, puts and gets \
mixed; latency counts from when a request was due.

| server | p50, ms | p99, ms (min to max) | max, ms |
| --- | --- | --- | --- |"""


_COSTS = """
CPU of the process per call of DynamoDB, µs, 64 at once, against an endpoint that answers at once.

| call | gateway's store (min to max) | aiobotocore (min to max) |
| --- | --- | --- |"""


def main() -> None:
    """Three tables: requests per second, latency at a fixed rate, and what a call of DynamoDB costs."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server is left behind
    with tempfile.TemporaryDirectory() as folder, running_redis() as redis_port:
        everybody = subjects(Path(folder), redis_port)
        print(_THROUGHPUT)
        for operation in ("put", "get"):
            for row in _throughput_rows(operation, everybody):
                print(row, flush=True)
        print(_UNEQUAL)
        print(_LATENCY)
        bare, _, on_redis, _ = everybody
        for subject in (bare, on_redis):
            print(_latency_row(subject), flush=True)
    print(_COSTS)
    for row in cost_rows(ROUNDS):
        print(row, flush=True)


def _throughput_rows(operation: str, everybody: Sequence[Subject]) -> Iterator[str]:
    able = [subject for subject in everybody if subject.lacking is None]
    rounds = [{subject.name: _rate(subject, operation) for subject in able} for _ in range(ROUNDS)]
    first = everybody[0].name
    for subject in everybody:
        if subject.lacking is not None:
            yield f"| {operation} | {subject.name} | not measured: {subject.lacking} | |"
            continue
        rate = median(rates[subject.name] for rates in rounds)
        ratios = [rates[subject.name] / rates[first] for rates in rounds]
        yield f"| {operation} | {subject.name} | {rate:,.0f} | {_spread(ratios)} |"


def _rate(subject: Subject, operation: str) -> float:
    with subject.start() as port:
        if operation == "get":
            measure_throughput(port, subject.exchanges(port, "put"), _FILL_SECONDS)
        return measure_throughput(port, subject.exchanges(port, operation), SECONDS).per_second


def _latency_row(subject: Subject) -> str:
    if subject.lacking is not None:
        return f"| {subject.name} | not measured: {subject.lacking} | | |"
    rounds = [_latency(subject) for _ in range(ROUNDS)]
    p50 = median(latency.p50_ms for latency in rounds)
    highest = max(latency.max_ms for latency in rounds)
    return (
        f"| {subject.name} | {p50:.2f} | {_spread([latency.p99_ms for latency in rounds])} | {highest:.2f} |"
    )


def _latency(subject: Subject) -> Latency:
    with subject.start() as port:
        puts, gets = (subject.exchanges(port, operation) for operation in ("put", "get"))
        measure_throughput(port, puts, _FILL_SECONDS)
        mixed = [*puts, *gets]
        random.Random(0).shuffle(mixed)
        return measure_latency(port, mixed, SECONDS)


def _spread(figures: Sequence[float]) -> str:
    return f"{median(figures):.2f} ({min(figures):.2f} to {max(figures):.2f})"


if __name__ == "__main__":
    main()
