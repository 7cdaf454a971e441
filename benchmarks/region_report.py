"""What was measured of a region as text: one table per section, with what was before."""

from collections.abc import Mapping
from statistics import median

from benchmarks.figures import (
    Changes,
    Declared,
    DynamoLoad,
    Month,
    Operated,
    Reclaiming,
    RedisLoad,
    Scrapes,
    Tenancy,
)
from benchmarks.region_goals import growth, growth_in_process, walk_ratio
from benchmarks.tables import number, spread, table

_MIB = 2**20


def changes(measured: Changes) -> str:
    """By kind."""
    rows = [
        [kind, f"{len(each)}", f"{median(each):.2f}", f"{max(each):.2f}"]
        for kind, each in measured.seconds.items()
    ]
    return (
        f"Two replicas, one Redis, {measured.apps:,} apps. Seconds from the answer of the one to the first "
        "refusal by the other, which had served the app just before. Before: when the binding was read "
        "again, up to 10 s later.\n\n" + table(["change", "times", "median, s", "worst, s"], rows)
    )


def redis(measured: RedisLoad) -> str:
    """At rest, then per request."""
    names = sorted({name for each in measured.at_rest for name in each.per_second})
    rows = [
        [number(each.apps), *(f"{each.per_second.get(name, 0):.2f}" for name in names)]
        for each in measured.at_rest
    ]
    return (
        "Commands that one replica sends in a second without requests, counted by Redis. `xrange` is the "
        "feed of changes, the others are health checks. Before: a listing of all apps every 15 s.\n\n"
        f"{table(['apps', *names], rows)}\n\n"
        f"Over {measured.requests:,} gets and puts of {measured.at_rest[-1].apps:,} tenants in turn: "
        f"{measured.per_request:.3f} commands per request beside these. Before: up to 3. An entry of 1 KiB "
        f"takes {number(measured.entry_bytes)} bytes of Redis."
    )


def dynamodb(measured: DynamoLoad) -> str:
    """At rest, then per put and get."""
    costs = {"put": measured.put, "get": measured.get, "at rest, per second": measured.at_rest}
    rows = [
        [
            what,
            ", ".join(f"{count:.2f} {name}" for name, count in cost.requests.items() if count >= 0.005),
            f"{cost.written_units:.2f}",
            f"{cost.read_units:.2f}",
        ]
        for what, cost in costs.items()
    ]
    return (
        f"An emulator behind a relay that counts, {measured.apps:,} apps called in turn with values of "
        "1 KiB; units are computed from the sizes of items as AWS does. A letter names the kind of item: `e` "
        "entry, `w` window, `r` record of the directory, `c` feed of changes. Before: one read of a record "
        "more per request, and 11,000 units for each listing of 100,000 apps.\n\n"
        + table(["", "requests", "units written", "units read"], rows)
    )


def tenancy(measured: Tenancy) -> str:
    """Ratios first."""
    rows = [
        [
            "a process on Redis",
            spread(measured.one, 1),
            spread(measured.many, 1),
            f"{growth(measured):.3f}",
        ]
    ]
    for store, by_tenants in measured.in_process.items():
        one, many = (by_tenants[key] for key in (min(by_tenants, key=int), max(by_tenants, key=int)))
        ratio = growth_in_process(by_tenants)
        rows.append([f"without a kernel, {store}", spread(one, 1), spread(many, 1), f"{ratio:.3f}"])
    per_app = (measured.resident_bytes - measured.resident_without_bytes) / measured.tenants
    return (
        f"Gets by {measured.tenants:,} tenants with a table each, called in turn, and by one of them, "
        "batches of both alternating in one process; CPU per request in µs, median (least to most). Before: "
        f"1.27.\n\n{table(['', 'one tenant', 'all in turn', 'ratio, median of neighbours'], rows)}\n\n"
        f"The first request of each, which looks its token up: {measured.first.cpu_microseconds:.1f} µs. A "
        f"replica that has served all holds {number(measured.resident_bytes / _MIB)} MiB, "
        f"{number(per_app)} bytes an app; Redis holds {number(measured.redis_bytes / _MIB)} MiB of records."
    )


def declared(measured: Declared) -> str:
    """Start-up by apps in the file."""
    return (
        f"With {measured.apps:,} apps in the file a replica is ready after {measured.start_seconds:.1f} s, "
        f"{measured.start_cpu_seconds:.1f} s of them CPU, and holds {number(measured.resident_bytes / _MIB)} "
        "MiB. Before: 20 s and 600 MiB."
    )


def scrapes(measured: Scrapes) -> str:
    """As text and compressed."""
    rows = [
        [name, number(each.sent_bytes / _MIB, 2), number(each.cpu_ms), f"{each.loop_ms:.1f}"]
        for name, each in (("text", measured.text), ("gzip", measured.compressed))
    ]
    kept = measured.prometheus_series_bytes
    return (
        f"{measured.active:,} of {measured.tables:,} tables were called, with puts, gets, and gets that "
        f"found nothing: {measured.series:,} series. Before: 21 series for each table that there is, 280 "
        f"MiB.\n\n{table(['scrape', 'MiB', 'CPU, ms', 'longest hold of the loop, ms'], rows)}\n\n"
        f"A Prometheus takes {number(kept)} bytes of memory for each series that it scrapes."
    )


_HELD_BEFORE = {"apps list": "802", "reload": "8 to 11"}


def holds(measured: Mapping[str, Operated]) -> str:
    """By operation."""
    rows = [
        [
            operation,
            f"{each.hold.loop_ms:.1f}",
            f"{each.hold.all_ms:.1f}",
            number(each.hold.whole_ms),
            f"{each.slowest_ms:.1f}",
            number(each.calls),
            next((text for name, text in _HELD_BEFORE.items() if name in operation), ""),
        ]
        for operation, each in measured.items()
    ]
    heads = [
        "operation",
        "held by the loop, ms of CPU",
        "held by all threads",
        "CPU in all, ms",
        "slowest call beside it, ms",
        "of calls",
        "held before",
    ]
    return (
        "The longest time in which the event loop does nothing else, and the slowest of the calls of the "
        "data plane that one client made beside it, one after the other. Holds are in processor time, calls "
        "by the clock: these wait for whatever else the machine does, as the first row shows.\n\n"
        + table(heads, rows)
    )


def reclaiming(measured: Reclaiming) -> str:
    """Each pair of windows, then their ratio."""
    pairs = list(zip(measured.windows[::2], measured.windows[1::2], strict=True))
    rows = [
        [
            number(beside.scanned),
            f"{beside.p50_ms:.2f}, {without.p50_ms:.2f}",
            f"{beside.p99_ms:.2f}, {without.p99_ms:.2f}",
            f"{beside.p99_ms / without.p99_ms:.2f}",
            f"{beside.load:.1f}, {without.load:.1f}",
        ]
        for beside, without in pairs
    ]
    heads = ["keys a second looked at", "p50, ms: beside a walk, without", "p99, ms", "ratio", "load"]
    return (
        f"A Redis with {measured.keys:,} entries of other tables, two replicas, of which one reclaims "
        "deleted tables and is called meanwhile; then it is stopped and the other one is called, in turns of "
        f"4 s. Median of the ratios: {walk_ratio(measured):.2f}.\n\n{table(heads, rows)}"
    )


def month(measured: Month) -> str:
    """One line."""
    return (
        f"{measured.tables:,} tables called within a month, {measured.samples:,} samples, "
        f"{measured.requests:,} requests: `kvs-gateway usage` takes {number(measured.seconds)} s and "
        f"{number(measured.resident_bytes / _MIB)} MiB, and is exact."
    )
