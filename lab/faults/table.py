"""Collects what each test has shown, and prints it as one table, row by row."""

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab.faults.rows import Row
from tests.support import evidence
from tests.support.evidence import Evidence

_EVIDENCE = "evidence"
HEAD = ("promise", "", "tests", "answered", "503", "429", "no answer", "wrong", "slowest", "lag", "faults")


@dataclass
class Result:
    """One test, or all of a row."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    shown: Evidence = field(default_factory=Evidence)

    @property
    def verdict(self) -> str:
        if self.failed:
            return "FAILED"
        return "holds" if self.passed else "not shown"

    def add(self, other: "Result") -> None:
        for name in ("passed", "failed", "skipped", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.shown.add(other.shown)

    def as_json(self) -> dict[str, Any]:
        counts = {"passed": self.passed, "failed": self.failed, "skipped": self.skipped}
        return {**counts, "seconds": round(self.seconds, 1), **self.shown.as_json()}


class Table:
    """A plugin of pytest."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._results: dict[str, Result] = {}

    def pytest_runtest_setup(self) -> None:
        evidence.take()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Includes evidence that fixtures note when they end."""
        try:
            return (yield)
        finally:
            item.user_properties.append((_EVIDENCE, evidence.take().as_json()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = self._results.setdefault(report.nodeid, Result())
        result.seconds += report.duration
        result.failed += report.failed
        result.skipped += report.skipped
        result.passed += report.passed and report.when == "call"
        shown = dict(report.user_properties).get(_EVIDENCE)
        if shown is not None:
            result.shown = Evidence.from_json(shown)

    def result_of(self, row: Row) -> Result:
        return _sum(result for test, result in self._results.items() if row.covers(test))

    def total(self) -> Result:
        return _sum(self._results.values())

    @property
    def holds(self) -> bool:
        return all(self.result_of(row).verdict == "holds" for row in self._rows)

    def lines(self) -> list[str]:
        """Markdown."""
        total = self.total()
        cells = [HEAD, ("---",) * len(HEAD)]
        cells += [_cells(row.promise, self.result_of(row)) for row in self._rows]
        cells.append(_cells("all", total))
        lines = [f"| {' | '.join(row)} |" for row in cells]
        faults = ", ".join(f"{name} {times:,}" for name, times in total.shown.faults.most_common())
        return [*lines, "", f"Faults: {faults}.", f"Bad inputs and simulated runs: {total.shown.tried:,}."]

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = {row.promise: self.result_of(row).as_json() for row in self._rows}
        file.write_text(json.dumps({"rows": rows, "all": self.total().as_json()}, indent=2) + "\n")


def _sum(results: Any) -> Result:
    total = Result()
    for result in results:
        total.add(result)
    return total


def _cells(title: str, result: Result) -> tuple[str, ...]:
    shown = result.shown
    tests = f"{result.passed}/{result.passed + result.failed + result.skipped}"
    counts = (shown.answered, shown.refused, shown.limited, shown.unanswered, shown.wrong)
    times = (shown.slowest_seconds, shown.held_up_seconds)
    return (
        title,
        result.verdict,
        tests,
        *(f"{count:,}" if shown.answered else "" for count in counts),
        *(f"{seconds * 1000:,.0f} ms" if seconds else "" for seconds in times),
        f"{shown.faults.total():,}" if shown.faults else "",
    )
