"""The table of what held: every row is proved by tests that exist, and says no more than they showed."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.faults.rows import ROWS, Row
from lab.faults.table import HEAD, Table
from tests.support.evidence import Evidence

ROW = Row("it holds", ("tests/a.py::test_one", "tests/b"))
ONE, MANY, OTHER = "tests/a.py::test_one", "tests/b/c.py::test_many[3]", "tests/a.py::test_one_more"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.promise)
def test_every_row_names_tests_that_exist(row):
    for test in row.tests:
        path, _, name = test.partition("::")
        assert Path(path).exists(), path
        assert not name or f"def {name}(" in Path(path).read_text(), test


def reported(table: Table, test: str, outcome: str, **shown) -> None:
    passed, failed, skipped = (outcome == each for each in ("passed", "failed", "skipped"))
    table.pytest_runtest_logreport(
        SimpleNamespace(
            nodeid=test,
            when="call",
            duration=1.0,
            passed=passed,
            failed=failed,
            skipped=skipped,
            user_properties=[("evidence", Evidence(**shown).as_json())],
        )
    )


def test_a_row_holds_if_one_of_its_tests_passed_and_none_failed():
    table = Table([ROW])
    assert table.result_of(ROW).verdict == "not shown"
    reported(table, ONE, "skipped")
    reported(table, OTHER, "passed")
    assert (table.result_of(ROW).verdict, table.holds) == ("not shown", False)
    reported(table, MANY, "passed")
    assert (table.result_of(ROW).verdict, table.holds) == ("holds", True)
    reported(table, "tests/b/d.py::test_bad", "failed")
    assert (table.result_of(ROW).verdict, table.holds) == ("FAILED", False)


def test_numbers_add_up_and_a_test_of_two_rows_counts_once_in_all(tmp_path):
    again = Row("it holds again", ("tests/a.py",))
    table = Table([ROW, again])
    reported(table, ONE, "passed", answered=1_000, slowest_seconds=0.2, faults=Counter(killed=2))
    reported(table, MANY, "passed", answered=500, refused=7, slowest_seconds=0.1, faults=Counter(killed=1))
    total = table.total()
    assert (total.passed, total.shown.answered, total.shown.refused) == (2, 1_500, 7)
    assert (total.shown.slowest_seconds, total.shown.faults) == (0.2, {"killed": 3})
    lines = table.lines()
    assert all(line.count("|") == len(HEAD) + 1 for line in lines[:5])
    assert "| it holds | holds | 2/2 | 1,500 | 7 |" in lines[2]
    assert "Faults: killed 3." in lines
    table.write(tmp_path / "there" / "faults.json")
    assert '"answered": 1500' in (tmp_path / "there" / "faults.json").read_text()
