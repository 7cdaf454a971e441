"""A region of 100,000 app environments, computed from what was measured."""

from math import ceil

from msgspec import Struct

from benchmarks.footprint import Footprint
from benchmarks.plan import CACHE_SECONDS
from benchmarks.scale import Tenants
from benchmarks.tables import number, table

APPS = 100_000
_MEAN_PER_APP = 0.1
_PEAK = 3
_UTILIZATION = 0.6
_LINE_BYTES = 113
_ACTIVE_TABLES = 10_000
_SERIES_PER_TABLE = 7
_SHOWN_SERIES = 100_000
_MIB = 2**20


class Region(Struct, frozen=True):
    """Requests per second, the lookups of bindings that they need, and who serves them."""

    mean_per_second: float
    peak_per_second: float
    mean_lookups: float
    peak_lookups: float
    replicas: int


def plan_region(tenants: Tenants) -> Region:
    """One request in ten seconds per app, three times as many at the peak, replicas used to 60 %."""
    mean = APPS * _MEAN_PER_APP
    peak = mean * _PEAK
    replicas = ceil(peak * tenants.then.cpu_microseconds / 1e6 / _UTILIZATION)
    most_lookups = replicas * APPS / CACHE_SECONDS  # of all tokens, by all replicas, each time
    return Region(mean, peak, min(mean, most_lookups), min(peak, most_lookups), replicas)


def region_table(tenants: Tenants, footprint: Footprint) -> str:
    """What it takes, line by line."""
    region = plan_region(tenants)
    rows = [*_replica_rows(region, tenants, footprint), *_redis_rows(region, tenants)]
    rows += [*_dynamodb_rows(region), *_rest_rows(tenants)]
    return table(["what", "how much", "from"], rows)


def _replica_rows(region: Region, tenants: Tenants, footprint: Footprint) -> list[list[str]]:
    per_connection = number(footprint.idle_connection_bytes / 1024, 1)
    return [
        [
            "requests per second",
            f"{number(region.mean_per_second)}, {number(region.peak_per_second)} at the peak",
            f"assumed: {_MEAN_PER_APP} per app, peak {_PEAK} times the mean; its limit would be 10 per app",
        ],
        [
            "replicas of one core",
            f"{region.replicas}",
            f"{number(tenants.then.cpu_microseconds)} µs per request, used to {_UTILIZATION:.0%}",
        ],
        [
            "memory of a replica",
            f"{number(tenants.resident_bytes / _MIB)} MiB, {per_connection} KiB more per connection",
            f"after every one of {tenants.tenants:,} tenants has called it",
        ],
    ]


def _redis_rows(region: Region, tenants: Tenants) -> list[list[str]]:
    per_tenant = tenants.redis_bytes / tenants.tenants
    return [
        [
            "commands of Redis per second",
            f"{number(2 * region.peak_per_second + region.peak_lookups)} at the peak",
            (
                "two per request, and one to read a binding again (at most one per request, and one per "
                "token, replica and 10 s)"
            ),
        ],
        [
            "memory of Redis for the directory",
            f"{number(per_tenant * APPS / _MIB)} MiB",
            f"{number(per_tenant)} bytes per app with one table; entries come on top",
        ],
    ]


def _dynamodb_rows(region: Region) -> list[list[str]]:
    read = region.mean_per_second / 2 + region.mean_lookups
    return [
        [
            "DynamoDB, units per second",
            f"{number(region.mean_per_second * 2)} written, {number(read)} read (mean)",
            (
                "half puts of 1 KiB (2 units and 1 to count), half gets (1 and 1), strong reads; "
                "one to read a binding again"
            ),
        ],
    ]


def _rest_rows(tenants: Tenants) -> list[list[str]]:
    series = _ACTIVE_TABLES * _SERIES_PER_TABLE
    scrape_bytes = series * _LINE_BYTES
    return [
        [
            "series of one replica",
            f"{number(series)} of {_SHOWN_SERIES:,} that `metering.max_series` shows",
            (
                f"{number(_ACTIVE_TABLES)} tables in use within an hour, {_SERIES_PER_TABLE} each "
                f"(puts, gets, gets that find nothing); a scrape is {number(scrape_bytes / _MIB)} MiB"
            ),
        ],
        [
            "CPU of a replica at rest",
            f"{tenants.rest_share:.1%} of a core",
            "the seconds after its start",
        ],
    ]
