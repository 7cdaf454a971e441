"""Measures everything that this machine can, and writes it down as text, as JSON and as a picture."""

import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import msgspec
from msgspec import Struct

from benchmarks.machine import describe_machine
from benchmarks.plan import Plan, chosen_plan
from benchmarks.publish import publish
from benchmarks.redis import running_redis
from benchmarks.sections import Bench, Found

_QUIET_PERCENT = 10
"""Of all cores; above this the figures are not those of the servers alone, and the README keeps its own."""


class Results(Struct, frozen=True):
    """A whole run."""

    machine: dict[str, str]
    method: str
    sections: dict[str, Found]


def main() -> None:
    """What is done is written after each section, so that nothing that comes later can lose it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server is left behind
    plan = chosen_plan()
    plan.results.mkdir(parents=True, exist_ok=True)
    machine, done = describe_machine(), dict[str, Found]()
    given_up = monotonic() + plan.limit_seconds
    with tempfile.TemporaryDirectory() as folder, running_redis() as redis_port:
        for title, measure in Bench(plan, Path(folder), redis_port).sections().items():
            done[title] = _measured(measure, given_up)
            print(f"## {title}\n\n{done[title].text}\n", flush=True)
            _write(Results(machine, _method(plan), done), plan)
    if plan.whole and not _caution(machine):
        publish(next(iter(done.values())).text)


def _measured(measure: Callable[[], Found], given_up: float) -> Found:
    if monotonic() > given_up:
        return Found("Not measured: the time was over.")
    try:
        return measure()
    except Exception as fault:
        return Found(f"Not measured: {str(fault) or type(fault).__name__}")


def _method(plan: Plan) -> str:
    return (
        f"Up to {plan.rounds} rounds; {plan.closed_seconds:g} s of puts and of gets over 64 connections and "
        f"{plan.steady_seconds:g} s at each fixed rate in each; values of 1 KiB where nothing else is said. "
        "The server under test has one core, the generator and Redis share the other. Every answer is "
        "compared with the body that is expected; ratios are taken within a round. Requests are signed "
        "beforehand. CPU is user and system time of the server's processes, divided by all requests."
    )


def _caution(machine: dict[str, str]) -> str:
    if int(machine["used by others"].removesuffix(" %")) < _QUIET_PERCENT:
        return ""
    return " The machine was in use: rates and latencies mean little, CPU per request is too high."


def _write(results: Results, plan: Plan) -> None:
    json = msgspec.json.format(msgspec.json.encode(results), indent=1)
    (plan.results / "speed.json").write_bytes(json + b"\n")
    machine = "\n".join(f"- {name}: {value}" for name, value in results.machine.items())
    sections = "\n\n".join(f"## {title}\n\n{found.text}" for title, found in results.sections.items())
    origin = f"Written by `make bench`.{_caution(results.machine)}"
    text = f"# Speed\n\n{origin}\n\n{machine}\n\n{results.method}\n\n{sections}\n"
    (plan.results / "speed.md").write_text(text)


if __name__ == "__main__":
    main()
