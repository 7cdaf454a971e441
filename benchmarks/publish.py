"""The first table of a full run, in `docs/measurements.md` between its marks."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "measurements.md"
_BEGIN, _END = "<!-- speed: written by make bench -->\n", "<!-- end of speed -->\n"


def publish(speed: str) -> None:
    """Leaves the page alone if there is no table, or no place for it."""
    text = PAGE.read_text()
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    tables = [part for part in speed.split("\n\n") if part.startswith("| operation")]
    if begin and end and tables:
        PAGE.write_text(f"{before}{begin}{tables[0]}\n{end}{after}")
