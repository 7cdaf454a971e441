"""Runs a tier of tests repeatedly under CPU load, with new random inputs, and lists the failures.

`python -m lab.flaky RUNS [arguments for pytest]`; `make flaky N=20 TIER=test-all`. A test that fails here
once in fifty runs is fixed at its cause, or removed with the reason: never repeated until it passes.
"""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

BUSY_LOOPS = 2
BUSY_LOOP = (sys.executable, "-c", "while True: pass")


@contextmanager
def busy_loops() -> Iterator[None]:
    loops = [subprocess.Popen(BUSY_LOOP) for _ in range(BUSY_LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(arguments: Sequence[str], log: Path, report: Path) -> list[str]:
    """Returns the tests that failed in one run; its whole output is in `log`."""
    with log.open("wb") as output:
        options = ["--hypothesis-profile=default", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *arguments]
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    failed = list(failures(report)) if report.exists() else []
    return failed or ([] if status == 0 else [f"pytest itself, with exit code {status}"])


def failures(report: Path) -> Iterator[str]:
    """Yields the failed tests of a report in JUnit's format."""
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            yield f"{case.get('classname')}::{case.get('name')}"


def main(runs: int, arguments: Sequence[str]) -> int:
    """Returns 0 if nothing failed."""
    failed: Counter[str] = Counter()
    logs = Path("build/flaky")
    logs.mkdir(parents=True, exist_ok=True)
    with busy_loops(), TemporaryDirectory() as folder:
        for number in range(1, runs + 1):
            began = time.monotonic()
            found = run(arguments, logs / f"{number}.log", Path(folder, f"{number}.xml"))
            failed.update(found)
            print(
                f"run {number} of {runs}: {time.monotonic() - began:.0f} s, {len(found)} failed", flush=True
            )
    for test, times in failed.most_common():
        print(f"{times} of {runs}  {test}")
    print(f"{len(failed)} tests failed in {runs} runs; their output: {logs}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
