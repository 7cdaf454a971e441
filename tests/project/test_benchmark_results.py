"""The results of the benchmarks are kept section by section."""

from benchmarks.results import Book, Found

MOMENT = {"measured": "today", "commit": "c", "used by others": "0 %", "load": "0.0"}


def test_a_section_that_is_measured_again_replaces_only_itself(tmp_path):
    book = Book(tmp_path, "speed", "method", ["a", "b"])
    book.keep("b", Found("old", 1), MOMENT)
    book.keep("a", Found("first", 2), MOMENT)
    book.keep("b", Found("new", 3), MOMENT)
    assert {title: kept.text for title, kept in book.read().sections.items()} == {"a": "first", "b": "new"}
    page = (tmp_path / "speed.md").read_text()
    assert page.index("first") < page.index("new")
