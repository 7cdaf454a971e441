"""The results of the benchmarks are kept section by section, and two of them are published."""

import pytest

from benchmarks.publish import PAGE, marks, publish
from benchmarks.results import Book, Found

MOMENT = {"measured": "today", "commit": "c", "used by others": "0 %", "load": "0.0"}


def test_a_section_that_is_measured_again_replaces_only_itself(tmp_path):
    book = Book(tmp_path, "speed", "method", ["a", "b"])
    book.keep("b", Found("old", 1), MOMENT)
    book.keep("a", Found("first", 2), MOMENT)
    book.keep("b", Found("new", 3), MOMENT)
    assert {title: kept.text for title, kept in book.read().sections.items()} == {"a": "first", "b": "new"}


@pytest.mark.parametrize("title", ["Speed beside the peers", "CPU per stage"])
def test_a_table_replaces_what_is_between_its_marks_only(title, tmp_path):
    page = tmp_path / "measurements.md"
    page.write_text(PAGE.read_text())
    publish(title, "| new |", page)
    begin, end = marks(title)
    before, _, rest = PAGE.read_text().partition(begin)
    assert page.read_text() == f"{before}{begin}| new |\n{end}{rest.partition(end)[2]}"
