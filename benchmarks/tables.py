"""Markdown tables."""

from collections.abc import Sequence
from statistics import median


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with its head."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def number(figure: float | None, digits: int = 0) -> str:
    """With thousands apart; a dash where there is none."""
    return "–" if figure is None else f"{figure:,.{digits}f}"  # noqa: RUF001 - a dash, meant


def spread(figures: Sequence[float], digits: int = 2) -> str:
    """The median, and the least and the most."""
    if not figures:
        return number(None)
    return f"{median(figures):.{digits}f} ({min(figures):.{digits}f} to {max(figures):.{digits}f})"
