"""Tables of a full run, in `docs/measurements.md` between the marks of their sections."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "measurements.md"


def publish(title: str, table: str, page: Path = PAGE) -> None:
    """Leaves the page alone if it has no marks of this section."""
    begin, end = marks(title)
    before, found_begin, rest = page.read_text().partition(begin)
    _, found_end, after = rest.partition(end)
    if found_begin and found_end:
        page.write_text(f"{before}{begin}{table}\n{end}{after}")


def marks(title: str) -> tuple[str, str]:
    """Returns the lines around the table of a section."""
    return f"<!-- {title}: written by make bench -->\n", f"<!-- end of {title} -->\n"
