"""One table of what was shown: each proof, what was asked under it, what failed, and figures beside it."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

HEAD = ("proof", "", "requests", "200", "503", "no answer", "other", "wrong", "slowest", "seen")


@dataclass
class Shown:
    """Figures of one proof."""

    statuses: Counter[int] = field(default_factory=Counter)
    """Answers by status; 0 is none."""
    wrong: int = 0
    slowest_seconds: float = 0.0
    seen: list[str] = field(default_factory=list)


class Report:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, Shown]] = {}

    @pytest.fixture(autouse=True)
    def shown(self, request: pytest.FixtureRequest) -> Shown:
        shown = Shown()
        self._rows[request.node.nodeid] = ("not shown", shown)
        return shown

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        verdict, shown = self._rows.get(report.nodeid, ("not shown", Shown()))
        if report.failed:
            verdict = "FAILED"
        elif report.when == "call" and report.passed:
            verdict = "holds"
        self._rows[report.nodeid] = (verdict, shown)

    def lines(self) -> list[str]:
        """Markdown."""
        rows = [HEAD, ("---",) * len(HEAD)]
        rows += [_cells(test, verdict, shown) for test, (verdict, shown) in self._rows.items()]
        return [f"| {' | '.join(row)} |" for row in rows]

    def write(self, file: Path) -> None:
        """The table, and the same as JSON beside it."""
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join([*self.lines(), ""]))
        file.with_suffix(".json").write_text(json.dumps(self._as_json(), indent=2) + "\n")

    def _as_json(self) -> dict[str, Any]:
        return {
            test: {
                "verdict": verdict,
                **vars(shown),
                "statuses": {str(k): n for k, n in shown.statuses.items()},
            }
            for test, (verdict, shown) in self._rows.items()
        }


def _cells(test: str, verdict: str, shown: Shown) -> tuple[str, ...]:
    title = test.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    statuses = shown.statuses
    others = statuses.total() - statuses[200] - statuses[503] - statuses[0]
    counts = (statuses.total(), statuses[200], statuses[503], statuses[0], others, shown.wrong)
    slowest = f"{shown.slowest_seconds * 1000:,.0f} ms" if shown.slowest_seconds else ""
    return (
        title,
        verdict,
        *(f"{count:,}" if statuses else "" for count in counts),
        slowest,
        "; ".join(shown.seen),
    )
