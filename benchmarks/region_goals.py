"""What issue and contract ask of a region of 100,000 apps, what was before, and what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from benchmarks.figures import (
    CHANGES,
    HOLDS,
    RECLAIMING,
    Changes,
    Operated,
    Reclaiming,
    Tenancy,
)
from benchmarks.region_plan import MIB, Measured
from benchmarks.results import Results, figures
from benchmarks.tables import number, table


def goals_table(results: Results, measured: Measured) -> str:
    """One line for each."""
    rows = [*_directory(results, measured), *_requests(measured), *_loop(results, measured)]
    return table(["what must be true", "before", "goal", "measured"], rows)


def _directory(results: Results, measured: Measured) -> Iterator[list[str]]:
    changes = figures(results, CHANGES, Changes)
    seconds = [each for kind in changes.seconds.values() for each in kind]
    yield [
        f"a change is in force on another replica ({changes.apps:,} apps, {len(seconds)} changes)",
        "up to 10 s",
        "2 s",
        f"{median(seconds):.2f} s, {max(seconds):.2f} s at the worst",
    ]
    for at_rest in measured.redis.at_rest:
        yield [
            f"the directory asks Redis at rest, apps: {at_rest.apps:,}",
            "1 listing every 15 s" if at_rest.apps > 1 else "",
            "1 a second",
            (
                f"{at_rest.per_second.get('xrange', 0):.2f} a second, "
                f"{sum(at_rest.per_second.values()):.1f} with health checks"
            ),
        ]
    declared = measured.declared
    yield [
        f"{declared.apps:,} declared apps",
        "20 s, 600 MiB",
        "5 s, 300 MiB",
        (
            f"{declared.start_seconds:.1f} s ({declared.start_cpu_seconds:.1f} s of CPU), "
            f"{number(declared.resident_bytes / MIB)} MiB"
        ),
    ]


def _requests(measured: Measured) -> Iterator[list[str]]:
    tenancy = measured.tenancy
    yield ["commands of Redis per request", "up to 3", "2.0", f"{measured.redis.per_request:.2f}"]
    for name, cost, before in (
        ("put", measured.dynamodb.put, "one read more per request"),
        ("get", measured.dynamodb.get, ""),
    ):
        yield [
            f"units of DynamoDB per {name} of 1 KiB",
            before,
            "data and counter",
            f"{cost.written_units:.2f} written, {cost.read_units:.2f} read",
        ]
    yield [
        f"CPU per request, {tenancy.tenants:,} tenants over one",
        "1.27",
        "1.05",
        ", ".join(
            [
                f"{growth(tenancy):.2f} in a process on Redis",
                *(
                    f"{growth_in_process(by_tenants):.2f} without a kernel on {store}"
                    for store, by_tenants in tenancy.in_process.items()
                ),
            ]
        ),
    ]


def _loop(results: Results, measured: Measured) -> Iterator[list[str]]:
    held, scrapes = figures(results, HOLDS, dict[str, Operated]), measured.scrapes
    reclaiming = figures(results, RECLAIMING, Reclaiming)
    yield [
        f"a scrape, {scrapes.active:,} of {scrapes.tables:,} tables in use",
        "280 MiB for all",
        "10 MiB, 5 ms held",
        (
            f"{number(scrapes.text.sent_bytes / MIB, 1)} MiB "
            f"({number(scrapes.compressed.sent_bytes / MIB, 1)} compressed), "
            f"{max(scrapes.text.loop_ms, scrapes.compressed.loop_ms):.1f} ms held"
        ),
    ]
    longest = max(held, key=lambda name: held[name].hold.loop_ms)
    yield [
        "the longest hold of the loop",
        "802 ms",
        "5 ms",
        f"{held[longest].hold.loop_ms:.1f} ms ({longest})",
    ]
    slowest = max(each.slowest_ms for name, each in held.items() if name != "nothing")
    calm = held["nothing"].slowest_ms
    yield ["the slowest call beside any", "3.5 s", "20 ms", f"{slowest:.1f} ms ({calm:.1f} beside nothing)"]
    yield [
        f"p99 beside a walk over that without, {reclaiming.keys:,} foreign keys",
        "",
        "2",
        f"{walk_ratio(reclaiming):.2f}",
    ]


def growth(tenancy: Tenancy) -> float:
    """The median of the ratios of neighbouring batches."""
    return median(many / one for one, many in zip(tenancy.one, tenancy.many, strict=True))


def growth_in_process(by_tenants: Mapping[str, Sequence[float]]) -> float:
    """The same, of rounds by the number of tenants."""
    one, many = (by_tenants[key] for key in (min(by_tenants, key=int), max(by_tenants, key=int)))
    return median(each / alone for alone, each in zip(one, many, strict=True))


def walk_ratio(reclaiming: Reclaiming) -> float:
    """The median of the ratios of neighbouring windows."""
    pairs = zip(reclaiming.windows[::2], reclaiming.windows[1::2], strict=True)
    return median(beside.p99_ms / without.p99_ms for beside, without in pairs)
