"""Prints the comparison of each pair: `python -m lab.timing [samples]`, by default 20,000."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from lab.timing.attempts import IN_PROCESS, by_design, over_http
from lab.timing.comparison import Pair, compare
from tests.support.config import BASE
from tests.support.process import GatewayProcess

HEAD = """\
| refused attempts | first, ns | second, ns | difference, ns | t | t of the control |
| --- | --- | --- | --- | --- | --- |"""


def row(name: str, make_pair: Callable[[], Pair], samples: int) -> str:
    found = compare(make_pair, samples)
    return (
        f"| {name} | {found.first_ns:,.0f} | {found.second_ns:,.0f} | {found.difference_ns:+,.1f} "
        f"| {found.t:+.2f} | {found.control_t:+.2f} |"
    )


def main(samples: int) -> None:
    print(HEAD)
    for name, make_pair in IN_PROCESS.items():
        print(row(name, make_pair, samples), flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        GatewayProcess(BASE, Path(folder)) as process,
        over_http(process.urls["data"]) as pairs,
    ):
        for name, make_pair in pairs.items():
            print(row(name, make_pair, samples), flush=True)
    print(row("by design: a malformed token, or a well-formed one at first sight", by_design, samples))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
