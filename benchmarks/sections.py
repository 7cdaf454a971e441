"""Sections of a run, one after the other; a failure in one does not affect the others."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from benchmarks import report
from benchmarks.dynamodb import measure_calls
from benchmarks.fairness import FAIRNESS, fairness_table, measure_fairness
from benchmarks.footprint import footprint_table, measure_footprint
from benchmarks.gateways import ON_MEMORY, on_redis
from benchmarks.issuing import ISSUING, issuing_table, measure_issuing
from benchmarks.picture import draw
from benchmarks.plan import Plan
from benchmarks.processes import Unmeasurable
from benchmarks.programs import program_output
from benchmarks.results import Found
from benchmarks.scale import measure_replicas, measure_values
from benchmarks.servers import measure_servers
from benchmarks.subjects import subjects

PICTURE = "speed.svg"

_STAGES_SECONDS = 120.0

Measured = TypeVar("Measured")


class Bench:
    """One run."""

    def __init__(self, plan: Plan, folder: Path, redis_port: int) -> None:
        self._plan = plan
        self._folder = folder
        self._redis_port = redis_port

    def sections(self) -> dict[str, Callable[[], Found]]:
        """Returns the measurements by heading, the most important first."""
        return {
            "Speed beside the peers": self.speed,
            "CPU per stage": self.stages,
            "Memory and start-up": self.footprint,
            "Sizes of values": self.values,
            "Replicas": self.replicas,
            "Issuing credentials": self.issuing,
            "Share of the event loop": self.fairness,
            "Calls of DynamoDB": self.dynamodb,
        }

    def speed(self) -> Found:
        """Speed beside the peers."""
        everybody = subjects(self._folder, self._redis_port)
        if not self._plan.whole:
            everybody = [subject for subject in everybody if not subject.only_if_whole]
        servers = measure_servers(everybody, self._plan)
        draw(servers, self._plan.rates, self._plan.results / PICTURE)
        parts = [
            report.throughput(servers),
            report.UNEQUAL,
            report.features(servers),
            report.OPEN_LOOP,
            report.latencies(servers, self._plan),
        ]
        figures = [report.figures_of(rounds, self._plan) for rounds in servers]
        return Found("\n\n".join(parts), figures, report.summary(servers, self._plan))

    def stages(self) -> Found:
        """Where the time goes."""
        stores = {"memory": ON_MEMORY, "Redis": on_redis(self._redis_port)}
        figures = {name: self._stages_of(store) for name, store in stores.items()}
        return Found(f"{report.STAGES}\n\n{report.stages(figures)}", figures, report.stages_of_puts(figures))

    def _stages_of(self, store: dict[str, str]) -> dict[str, dict[str, float]]:
        amounts = [self._plan.stage_calls, store]
        return program_output("benchmarks.stages", amounts, dict[str, dict[str, float]], _STAGES_SECONDS)

    def footprint(self) -> Found:
        """Memory and start-up."""
        measured = measure_footprint(self._folder, self._plan)
        return Found(footprint_table(measured), measured)

    def values(self) -> Found:
        """Scale in size."""
        measured, missing = _as_many_as_can_be(measure_values(self._folder, self._redis_port, self._plan))
        return Found(f"{report.values(measured)}{missing}", measured)

    def replicas(self) -> Found:
        """Scale in replicas."""
        measured, missing = _as_many_as_can_be(measure_replicas(self._folder, self._redis_port, self._plan))
        return Found(f"{report.replicas(measured)}{missing}", measured)

    def issuing(self) -> Found:
        """Credentials that workloads fetch."""
        measured = measure_issuing(self._folder, self._plan)
        return Found(f"{ISSUING}\n\n{issuing_table(measured)}", measured)

    def fairness(self) -> Found:
        """Gets beside busy clients of the other listeners."""
        measured = measure_fairness(self._folder, self._redis_port, self._plan)
        return Found(f"{FAIRNESS}\n\n{fairness_table(measured)}", measured)

    def dynamodb(self) -> Found:
        """CPU of a call in the calling process."""
        measured = measure_calls(self._plan)
        return Found(f"{report.CALLS}\n\n{report.calls(measured)}", measured)


def _as_many_as_can_be(rows: Iterator[Measured]) -> tuple[list[Measured], str]:
    """Returns the rows before the first that fails, and the reason of the failure."""
    measured: list[Measured] = []
    try:
        for row in rows:
            measured.append(row)  # noqa: PERF402 - what was measured is kept
    except Unmeasurable as reason:
        return measured, f"\n\nMore were not measured: {reason}"
    return measured, ""
