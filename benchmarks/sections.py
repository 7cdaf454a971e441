"""What a run measures, one section after the other; one that fails leaves the others standing."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from benchmarks import report
from benchmarks.dynamodb import measure_calls
from benchmarks.footprint import Footprint, footprint_table, measure_footprint
from benchmarks.gateways import ON_MEMORY, on_redis
from benchmarks.holds import Hold
from benchmarks.picture import draw
from benchmarks.plan import Plan
from benchmarks.processes import SERVER_CORE, Unmeasurable, pin
from benchmarks.redis import running_redis
from benchmarks.region import region_table
from benchmarks.scale import (
    Tenants,
    measure_declared,
    measure_replicas,
    measure_tenants,
    measure_values,
)
from benchmarks.servers import Rounds, measure_servers
from benchmarks.subjects import subjects

PICTURE = "speed.svg"

_STAGES_SECONDS = 120.0
_HOLDS_SECONDS = 180.0

Measured = TypeVar("Measured")


class Found(Struct, frozen=True):
    """What a section has found: its text in Markdown, and its figures."""

    text: str
    figures: object = None


class Bench:
    """One run. Later sections use what earlier ones have found."""

    def __init__(self, plan: Plan, folder: Path, redis_port: int) -> None:
        self._plan = plan
        self._folder = folder
        self._redis_port = redis_port
        self._servers: list[Rounds] = []
        self._footprint: Footprint | None = None
        self._tenants: list[Tenants] = []

    def sections(self) -> dict[str, Callable[[], Found]]:
        """By heading, in the order they are measured in: what matters most comes first."""
        return {
            "Speed beside the peers": self.speed,
            "CPU per stage": self.stages,
            "Memory and start-up": self.footprint,
            "Tenants": self.tenants,
            "Sizes of values": self.values,
            "Replicas": self.replicas,
            "Declared apps": self.declared,
            "Holds of the event loop": self.holds,
            "Calls of DynamoDB": self.dynamodb,
            "A region of 100,000 app environments": self.region,
        }

    def speed(self) -> Found:
        """Speed beside the peers."""
        everybody = subjects(self._folder, self._redis_port)
        if not self._plan.whole:
            everybody = [subject for subject in everybody if not subject.only_if_whole]
        self._servers = measure_servers(everybody, self._plan)
        draw(self._servers, self._plan.rates, self._plan.results / PICTURE)
        parts = [
            f"![Requests per second, and latencies by percentile]({PICTURE})",
            report.throughput(self._servers),
            report.UNEQUAL,
            report.features(self._servers),
            report.OPEN_LOOP,
            report.latencies(self._servers, self._plan),
        ]
        figures = [report.figures_of(rounds, self._plan) for rounds in self._servers]
        return Found("\n\n".join(parts), figures)

    def stages(self) -> Found:
        """Where the time goes."""
        stores = {"memory": ON_MEMORY, "Redis": on_redis(self._redis_port)}
        figures = {name: self._stages_of(store) for name, store in stores.items()}
        return Found(f"{report.STAGES}\n\n{report.stages(figures)}", figures)

    def _stages_of(self, store: dict[str, str]) -> dict[str, dict[str, float]]:
        words = ["benchmarks.stages", str(self._plan.stage_calls), json.dumps(store)]
        return _program_output(words, dict[str, dict[str, float]], _STAGES_SECONDS)

    def footprint(self) -> Found:
        """Memory and start-up."""
        self._footprint = measure_footprint(self._folder, self._plan)
        return Found(footprint_table(self._footprint), self._footprint)

    def tenants(self) -> Found:
        """Scale in tenants."""
        self._tenants, missing = _as_many_as_can_be(measure_tenants(self._folder, self._plan))
        text = f"{report.TENANTS}\n\n{report.tenants(self._tenants)}{missing}"
        return Found(text, self._tenants)

    def values(self) -> Found:
        """Scale in size."""
        measured, missing = _as_many_as_can_be(measure_values(self._folder, self._redis_port, self._plan))
        return Found(f"{report.values(measured)}{missing}", measured)

    def replicas(self) -> Found:
        """Scale in replicas."""
        measured, missing = _as_many_as_can_be(measure_replicas(self._folder, self._redis_port, self._plan))
        return Found(f"{report.replicas(measured)}{missing}", measured)

    def declared(self) -> Found:
        """Scale in apps of the file."""
        measured = measure_declared(self._folder, self._plan)
        return Found(report.declared(measured), measured)

    def holds(self) -> Found:
        """What lists, reloads and scrapes keep the event loop from."""
        with running_redis() as redis_port:
            amounts = (self._plan.held_apps, self._plan.reloaded_apps, redis_port)
            measured = _program_output(
                ["benchmarks.holds", *map(str, amounts)], dict[str, Hold], _HOLDS_SECONDS
            )
        return Found(f"{report.HOLDS}\n\n{report.holds(measured)}", measured)

    def dynamodb(self) -> Found:
        """What a call costs the process that makes it."""
        measured = measure_calls(self._plan)
        return Found(f"{report.CALLS}\n\n{report.calls(measured)}", measured)

    def region(self) -> Found:
        """Computed, not measured."""
        if not self._tenants or self._footprint is None:
            raise Unmeasurable("tenants or memory were not measured")
        text = region_table(self._tenants[-1], self._footprint)
        return Found(text)


def _program_output(words: Sequence[str], kind: type[Measured], seconds: float) -> Measured:
    """What a module of this package writes as JSON, on the core of the servers."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        check=False,
        preexec_fn=pin(SERVER_CORE),
        timeout=seconds,
    )
    if done.returncode != 0:
        raise Unmeasurable(done.stderr.decode().strip().splitlines()[-1])
    return msgspec.json.decode(done.stdout, type=kind)


def _as_many_as_can_be(rows: Iterator[Measured]) -> tuple[list[Measured], str]:
    """The rows up to the first that cannot be had, and the reason for that."""
    measured: list[Measured] = []
    try:
        for row in rows:
            measured.append(row)  # noqa: PERF402 - what was measured is kept
    except Unmeasurable as reason:
        return measured, f"\n\nMore were not measured: {reason}"
    return measured, ""
