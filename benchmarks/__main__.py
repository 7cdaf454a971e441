"""Measures everything that this machine can: prints text, writes JSON, a picture and the published tables.

`python -m benchmarks` runs all sections, `python -m benchmarks Stages` those that are named; the others stay
as they were measured last.
"""

import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

from benchmarks.machine import describe_machine, describe_moment
from benchmarks.plan import Plan, chosen_plan
from benchmarks.publish import publish
from benchmarks.redis import running_redis
from benchmarks.results import Book, Found
from benchmarks.sections import Bench

_QUIET_PERCENT = 10
"""Share of all cores that others may use; above it the figures are not published."""

Sections = Mapping[str, Callable[[], Found]]


def main(names: Sequence[str]) -> None:
    """Writes each section as soon as it is measured, so that nothing that comes later can lose it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server is left behind
    plan = chosen_plan()
    plan.results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_redis() as redis_port:
        sections = Bench(plan, Path(folder), redis_port).sections()
        if unknown := set(names) - {*sections}:
            sys.exit(f"no such section: {', '.join(sorted(unknown))}")
        book = Book(plan.results, "speed", _speed_method(plan), [*sections])
        chosen = {title: sections[title] for title in sections if title in names or not names}
        _run(book, chosen, monotonic() + plan.limit_seconds, is_whole=plan.whole)


def _run(book: Book, sections: Sections, given_up: float, *, is_whole: bool) -> None:
    machine = describe_machine()
    for title, measure in sections.items():
        moment = describe_moment()
        found = _measured(measure, given_up)
        print(f"## {title}\n\n{found.text}\n", flush=True)
        book.keep(title, found, {**machine, **moment})
        if is_whole and found.published and int(moment["used by others"].removesuffix(" %")) < _QUIET_PERCENT:
            publish(title, found.published)


def _measured(measure: Callable[[], Found], given_up: float) -> Found:
    if monotonic() > given_up:
        return Found("Not measured: the time was over.")
    try:
        return measure()
    except Exception as fault:
        return Found(f"Not measured: {str(fault) or type(fault).__name__}")


def _speed_method(plan: Plan) -> str:
    return (
        f"Up to {plan.rounds} rounds; {plan.closed_seconds:g} s of puts and of gets over 64 connections and "
        f"{plan.steady_seconds:g} s at each fixed rate in each; values of 1 KiB where nothing else is said. "
        "The server under test has one core, the generator and Redis share the other. Every answer is "
        "compared with the body that is expected; ratios are taken within a round. Requests are signed "
        "beforehand. CPU is user and system time of the server's processes, divided by all requests. Where "
        "others used the machine, rates and latencies mean little, and CPU per request is too high."
    )


if __name__ == "__main__":
    main(sys.argv[1:])
