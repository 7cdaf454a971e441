"""CPU per call, calls per second and memory of waiting calls of the client for Python; prints a table.

make clients && .venv/clients/python/bin/python benchmarks/clients/python/measure.py
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from kvs_client import DeadlineExceeded
from kvs_client.aio import from_env

from benchmarks.clients.python.ways import WAYS, Way

STUB = Path(__file__).with_name("stub.py")
ROUNDS = 5
WAITING = 10_000


@contextmanager
def stub(*options: str) -> Iterator[None]:
    """Runs the server and names it in the environment, as a platform does."""
    with subprocess.Popen(
        [sys.executable, str(STUB), *options], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        os.environ |= {
            "SERVICE_KVS_URL": f"http://127.0.0.1:{process.stdout.readline().strip()}",
            "SERVICE_KVS_REGION": "eu-central-1",
            "SERVICE_KVS_TOKEN_NOTES": "bench-table-token",
            "AWS_ACCESS_KEY_ID": "AKIDBENCH",
            "AWS_SECRET_ACCESS_KEY": "bench-secret-access-key",
        }
        try:
            yield
        finally:
            process.kill()


def measured(way: Way, calls: int) -> tuple[float, float]:
    """Microseconds of CPU per call, and calls per second."""
    cpu, began = time.process_time(), time.perf_counter()
    asyncio.run(way(calls))
    return (time.process_time() - cpu) / calls * 1e6, calls / (time.perf_counter() - began)


async def kib_of_a_waiting_call() -> float:
    """64 wait for an answer, the others for a connection."""
    async with from_env("notes") as notes:
        with suppress(DeadlineExceeded):
            await notes.get("greeting", deadline_seconds=0.2)  # what is made once
        before = resident_kib()
        tasks = [asyncio.create_task(notes.get("greeting", deadline_seconds=3_600)) for _ in range(WAITING)]
        await asyncio.sleep(5)
        grown = resident_kib() - before
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return grown / WAITING


def resident_kib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def main() -> None:
    with stub():
        rounds = [{name: measured(*each) for name, each in WAYS.items()} for _ in range(ROUNDS)]
    print("| way | CPU per call, µs: median (min to max) | calls/s |\n| --- | --- | --- |")
    for name in WAYS:
        costs = [each[name][0] for each in rounds]
        speed = median(each[name][1] for each in rounds)
        print(f"| {name} | {median(costs):.0f} ({min(costs):.0f} to {max(costs):.0f}) | {speed:,.0f} |")
    with stub("silent"):
        print(f"\n{WAITING:,} waiting calls: {asyncio.run(kib_of_a_waiting_call()):.1f} KiB each")


main()
