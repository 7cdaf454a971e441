"""The page on a region in `docs/measurements.md`: what was asked for, what was measured, and what it means.

`python -m benchmarks.region` writes it anew from `results/region.json`, as a run of the bench does.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks import region_plan as plan
from benchmarks.figures import (
    DECLARED,
    DYNAMODB,
    REDIS,
    SCRAPES,
    TENANCY,
    TITLES,
    Declared,
    DynamoLoad,
    RedisLoad,
    Scrapes,
    Tenancy,
)
from benchmarks.region_goals import goals_table
from benchmarks.region_plan import Cell, Measured, bounds
from benchmarks.results import FOLDER, Book, Results, figures
from benchmarks.tables import number, table

PAGE = Path(__file__).parents[1] / "docs" / "measurements.md"
BEGIN, END = "<!-- region: written by make bench -->\n", "<!-- end of region -->\n"

_SIZES = (100_000, 1_000_000)


def page(results: Results) -> str:
    """All that stands between the marks. Raises KeyError if a section was never measured."""
    measured = Measured(
        figures(results, TENANCY, Tenancy),
        figures(results, REDIS, RedisLoad),
        figures(results, DYNAMODB, DynamoLoad),
        figures(results, SCRAPES, Scrapes),
        figures(results, DECLARED, Declared),
    )
    parts = [
        goals_table(results, measured),
        _assumptions(),
        _costs(measured),
        "What breaks first, in the order of the number of apps at which it does:",
        _breaking(measured),
    ]
    return "\n\n".join(parts) + "\n"


def write_page(folder: Path = FOLDER) -> None:
    """Between its marks, from the results that are there, if none is missing."""
    results = Book(folder, "region", "", ()).read()
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    missing = [title for title in TITLES if results is None or not results.has_figures(title)]
    if missing or results is None:
        print(f"the page on a region stays as it is: not measured: {', '.join(missing)}")
    elif begin and end:
        PAGE.write_text(f"{before}{begin}\n{page(results)}\n{end}{after}")


def _assumptions() -> str:
    return (
        f"Assumed: {plan.MEAN_PER_APP:g} requests a second per app on average and {plan.PEAK} times as many "
        f"at the peak, all by {plan.ACTIVE_SHARE:.0%} of the apps in any hour, {plan.PUT_SHARE:.0%} puts of "
        f"1 KiB; one table and {plan.ENTRIES_PER_APP} entries an app; {plan.CHANGES_PER_APP_AND_DAY} change "
        f"an app and day. A replica is one core used to {plan.UTILIZATION:.0%}, at "
        f"{plan.DOLLARS_PER_REPLICA:g} dollars a month; DynamoDB on demand at "
        f"{plan.DOLLARS_PER_MILLION_WRITTEN:g} dollars per million units written, "
        f"{plan.DOLLARS_PER_MILLION_READ:g} read, {plan.DOLLARS_PER_GIB_STORED:g} per GiB and month; a Redis "
        f"of {plan.REDIS_NODE_GIB:g} GiB at {plan.DOLLARS_PER_REDIS_NODE:g} dollars a month, each with a "
        f"copy, used to {plan.UTILIZATION:.0%}. Prices differ and change; the assumptions stand in "
        "[benchmarks/region_plan.py](../benchmarks/region_plan.py)."
    )


def _costs(measured: Measured) -> str:
    """A region of each size, and the largest one as cells."""
    columns = [(f"{apps:,} apps", Cell(apps, measured), 1) for apps in _SIZES]
    cells = _SIZES[-1] // plan.CELL_APPS
    columns.append((f"as {cells} cells of {plan.CELL_APPS:,}", Cell(plan.CELL_APPS, measured), cells))
    rows = [[what, *(told(cell, times) for _, cell, times in columns)] for what, told in _LINES.items()]
    return table(["", *(title for title, _, _ in columns)], rows)


_LINES: dict[str, Callable[[Cell, int], str]] = {
    "requests a second, mean and peak": lambda cell, times: (
        f"{number(times * cell.mean_per_second)}, {number(times * cell.peak_per_second)}"
    ),
    "replicas": lambda cell, times: number(times * cell.replicas),
    "memory of each, MiB": lambda cell, _: number(cell.replica_mib),
    "their price, dollars a month": lambda cell, times: number(
        times * cell.replicas * plan.DOLLARS_PER_REPLICA
    ),
    "Redis: commands a second at the peak": lambda cell, times: number(times * cell.redis_commands),
    "Redis: memory, GiB": lambda cell, times: number(times * cell.redis_gib, 1),
    "Redis: masters": lambda cell, times: number(times * cell.redis_masters),
    "Redis: dollars a month": lambda cell, times: number(times * cell.redis_dollars),
    "or DynamoDB: units a second, written and read": lambda cell, times: (
        f"{number(times * cell.units_written)}, {number(times * cell.units_read)}"
    ),
    "DynamoDB: dollars a month": lambda cell, times: number(times * cell.dynamodb_dollars),
    "series of a replica": lambda cell, _: number(cell.replica_series),
    "a scrape of it, MiB": lambda cell, _: number(cell.scrape_mib, 1),
    "series of the region": lambda cell, times: number(times * cell.replicas * cell.replica_series),
    "memory of Prometheus for them, GiB": lambda cell, times: number(
        None if cell.prometheus_gib is None else times * cell.prometheus_gib, 1
    ),
}


def _breaking(measured: Measured) -> str:
    rows = [[bound.what, number(bound.apps), bound.then] for bound in bounds(measured)]
    return table(["what", "apps", "way out"], rows)


if __name__ == "__main__":
    write_page()
