"""Measurements as text: one table per question."""

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.plan import Plan
from benchmarks.scale import Replicas, Value
from benchmarks.servers import OPERATIONS, Rounds
from benchmarks.tables import number, spread, table

UNEQUAL = """\
These are unequal services. What each does for a request besides storing it:"""

OPEN_LOOP = """\
At a fixed rate over 16 connections, puts and gets mixed, latency counts from when a request was due, whatever
the answers do: a server that stalls is charged for every request that should have been sent meanwhile."""

STAGES = """\
CPU of the process, each stage alone in a loop, 64 at once where a stage may wait. `pipeline` is all policies
with the store, `edge` reading the request and writing the response, `all together` both and the accounting
between them; the kernel's share is what is missing to the CPU per request above. Caches that a loop keeps
warm make the parts cheaper than the whole."""

CALLS = """\
CPU of the process per call, µs, 64 at once, against an endpoint on the same machine that answers at once."""


def throughput(measured: Sequence[Rounds]) -> str:
    """Requests per second, ratios, CPU per request."""
    rows = []
    for operation in OPERATIONS:
        for rounds in measured:
            reason = rounds.failures.get("all")
            rows.append(
                [
                    operation,
                    rounds.name,
                    f"not measured: {reason}" if reason else number(rounds.per_second(operation)),
                    spread(rounds.ratios[operation]),
                    number(rounds.cpu_microseconds(operation), 1),
                ]
            )
    return table(["operation", "server", "requests/s", "of bare aiohttp (min to max)", "CPU, µs"], rows)


def summary(measured: Sequence[Rounds], plan: Plan) -> str:
    """One row per server: medians, and the p99 at each fixed rate."""
    rows = [
        [
            rounds.name,
            *(cell for operation in OPERATIONS for cell in _medians(rounds, operation)),
            *(number(rounds.milliseconds(rate, 0.99), 2) for rate in plan.rates),
        ]
        for rounds in measured
    ]
    heads = [head for operation in OPERATIONS for head in (f"{operation}s/s", "of bare", "CPU, µs")]
    return table(["server", *heads, *(f"p99 at {rate:,}/s, ms" for rate in plan.rates)], rows)


def _medians(rounds: Rounds, operation: str) -> list[str]:
    ratios = rounds.ratios[operation]
    return [
        number(rounds.per_second(operation)),
        number(median(ratios) if ratios else None, 2),
        number(rounds.cpu_microseconds(operation), 1),
    ]


def features(measured: Sequence[Rounds]) -> str:
    """Differences between the services, which explain the figures above."""
    rows = [
        [
            each.name,
            each.features.signature,
            each.features.token,
            each.features.limiter,
            each.features.metering,
        ]
        for each in measured
    ]
    return table(["server", "signature", "token", "limiter", "metering"], rows)


def latencies(measured: Sequence[Rounds], plan: Plan) -> str:
    """Percentiles at each rate, and how far the p99 is above that of the first server."""
    rows = []
    for rate in plan.rates:
        base = measured[0].milliseconds(rate, 0.99)
        for rounds in measured:
            p50, p99, p999 = (rounds.milliseconds(rate, share) for share in (0.5, 0.99, 0.999))
            added = None if p99 is None or base is None else p99 - base
            reason = _why_none(rounds, rate) if p99 is None else ""
            cells = [number(p50, 2), number(p99, 2), number(p999, 2), number(added, 2)]
            rows.append([f"{rate:,}", rounds.name, *([reason, "", "", ""] if reason else cells)])
    return table(["requests/s", "server", "p50, ms", "p99, ms", "p99.9, ms", "added p99, ms"], rows)


def _why_none(rounds: Rounds, rate: int) -> str:
    for figure in ("all", f"{rate:,}/s", "some"):
        if figure in rounds.failures:
            return f"not measured: {rounds.failures[figure]}"
    return "not measured"


def stages(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Microseconds of CPU per stage, by store and operation."""
    columns = [(store, operation) for store, each in figures.items() for operation in each]
    first = figures[columns[0][0]][columns[0][1]]
    rows = [
        [name, *(number(figures[store][operation][name], 1) for store, operation in columns)]
        for name in first
    ]
    return table(["stage, µs", *(f"{operation} on {store}" for store, operation in columns)], rows)


def stages_of_puts(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """One line per store."""
    return "\n".join(
        f"- {store}: {', '.join(f'{stage} {number(cost, 1)}' for stage, cost in each['put'].items())}"
        for store, each in figures.items()
    )


def values(measured: Sequence[Value]) -> str:
    """Cost per request by size."""
    rows = [
        [
            each.store,
            number(each.value_bytes),
            number(each.put.per_second),
            number(each.put.cpu_microseconds, 1),
            number(each.get.per_second),
            number(each.get.cpu_microseconds, 1),
        ]
        for each in measured
    ]
    return table(["store", "value, bytes", "puts/s", "CPU, µs", "gets/s", "CPU, µs"], rows)


def replicas(measured: Sequence[Replicas]) -> str:
    """Cost by replicas that share a core."""
    rows = [
        [number(each.replicas), number(each.put.per_second), number(each.put.cpu_microseconds, 1)]
        for each in measured
    ]
    return table(["replicas on one core, Redis", "puts/s", "CPU, µs"], rows)


def calls(measured: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Rows by operation and client."""
    rows = [
        [operation, *(spread([each[operation] for each in measured[client]], 0) for client in measured)]
        for operation in measured["gateway"][0]
    ]
    return table(["call", "gateway's store (min to max)", "aiobotocore (min to max)"], rows)


def figures_of(rounds: Rounds, plan: Plan) -> dict[str, object]:
    """Figures of one server as JSON; latencies at each rate in milliseconds, by percentile."""
    return {
        "name": rounds.name,
        "features": rounds.features,
        "failures": rounds.failures,
        "rounds": rounds.closed,
        "of_bare": rounds.ratios,
        "latency_ms": {
            str(rate): {
                str(share): rounds.milliseconds(rate, share) for share in (0.5, 0.9, 0.99, 0.999, 1.0)
            }
            for rate in plan.rates
        },
    }
