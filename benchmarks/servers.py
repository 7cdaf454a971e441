"""Every server in turn, several rounds: requests per second, CPU per request, latencies at fixed rates."""

import random
from collections.abc import Iterator, Sequence
from statistics import median
from time import monotonic

from msgspec import Struct, field

from benchmarks.figures import Closed
from benchmarks.generators import measure_latency, measure_throughput
from benchmarks.plan import Plan
from benchmarks.processes import Unmeasurable
from benchmarks.subjects import Features, Subject

OPERATIONS = ("put", "get")


class Rounds(Struct):
    """Measurements of one server; `failures` holds the reason of each missing figure."""

    name: str
    features: Features
    closed: dict[str, list[Closed]] = field(default_factory=lambda: {each: [] for each in OPERATIONS})
    ratios: dict[str, list[float]] = field(default_factory=lambda: {each: [] for each in OPERATIONS})
    latencies: dict[int, list[list[float]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def per_second(self, operation: str) -> float | None:
        """The median of the rounds."""
        return median(each.per_second for each in self.closed[operation]) if self.closed[operation] else None

    def cpu_microseconds(self, operation: str) -> float | None:
        """The median of the rounds, per request."""
        figures = self.closed[operation]
        return median(each.cpu_microseconds for each in figures) if figures else None

    def milliseconds(self, rate: int, share: float) -> float | None:
        """The latency that `share` of all requests at this rate stayed within, over all rounds."""
        pooled = sorted(ms for each in self.latencies.get(rate, ()) for ms in each)
        return pooled[min(int(len(pooled) * share), len(pooled) - 1)] if pooled else None


def measure_servers(everybody: Sequence[Subject], plan: Plan) -> list[Rounds]:
    """In the order of `everybody`. After the time that the plan gives, no more rounds are begun."""
    measured = {subject.name: Rounds(subject.name, subject.features) for subject in everybody}
    given_up = monotonic() + plan.servers_seconds
    for number in range(plan.rounds):
        if number and monotonic() > given_up:
            break
        for subject in everybody:
            _measure(subject, measured[subject.name], plan)
        _compare(list(measured.values()), number)
    return list(measured.values())


def _measure(subject: Subject, rounds: Rounds, plan: Plan) -> None:
    if subject.lacking is not None:
        rounds.failures["all"] = subject.lacking
    if "all" in rounds.failures:
        return
    try:
        with subject.start() as server:
            exchanges = {operation: subject.exchanges(server.port, operation) for operation in OPERATIONS}
            for operation in OPERATIONS:
                figure = measure_throughput(server, exchanges[operation], plan.closed_seconds)
                rounds.closed[operation].append(figure)
            mixed = [each for some in exchanges.values() for each in some]
            random.Random(0).shuffle(mixed)
            for rate in _within(plan.rates, rounds):
                latencies = measure_latency(server, mixed, plan.steady_seconds, rate)
                rounds.latencies.setdefault(rate, []).append(latencies)
    except Exception as fault:  # whatever it is, the other servers are still to be measured
        reason = str(fault) if isinstance(fault, Unmeasurable) else f"{type(fault).__name__}: {fault}"
        rounds.failures["some" if rounds.closed["put"] else "all"] = reason


def _within(rates: Sequence[int], rounds: Rounds) -> Iterator[int]:
    """Rates that the server can keep: beyond them latency is the length of the test."""
    for rate in rates:
        if min(rounds.closed[operation][-1].per_second for operation in OPERATIONS) > rate:
            yield rate
        else:
            rounds.failures[f"{rate:,}/s"] = "more than it can do"


def _compare(measured: Sequence[Rounds], number: int) -> None:
    """Ratios within one round: the machine changes between rounds."""
    for operation in OPERATIONS:
        first = measured[0].closed[operation]
        for rounds in measured:
            if len(rounds.closed[operation]) > number and len(first) > number:
                mine = rounds.closed[operation][number].per_second
                rounds.ratios[operation].append(mine / first[number].per_second)
