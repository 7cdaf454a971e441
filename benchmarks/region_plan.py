"""What a region needs, computed from measured figures and from what is assumed, which stands here."""

from collections.abc import Sequence
from math import ceil
from statistics import median

from msgspec import Struct

from backends.interface import MAX_CHANGES
from benchmarks.figures import Declared, DynamoLoad, RedisLoad, Scrapes, Tenancy
from gateway.config.settings import MeteringSettings
from gateway.directory.resolve.bindings import CACHED_BINDINGS

# How apps are used.
MEAN_PER_APP = 0.1
PEAK = 3
ACTIVE_SHARE = 0.1
"""Of the apps, in any hour; these make all requests."""
PUT_SHARE = 0.5
ENTRIES_PER_APP = 100
CHANGES_PER_APP_AND_DAY = 1

# How replicas are run.
UTILIZATION = 0.6
FEWEST_REPLICAS = 2
MEMORY_LIMIT_MIB = 256
"""Of `deploy/base`."""
CELL_APPS = 100_000

# What stores can do, and what is paid: DynamoDB on demand, Fargate and a cache.r7g.large in eu-central-1.
REDIS_COMMANDS_PER_SECOND = 100_000
"""Of one core."""
DOLLARS_PER_MILLION_READ = 0.1525
DOLLARS_PER_MILLION_WRITTEN = 0.7625
DOLLARS_PER_GIB_STORED = 0.306
DOLLARS_PER_REPLICA = 41.0
DOLLARS_PER_REDIS_NODE = 192.0
REDIS_NODE_GIB = 13.07

MONTH_SECONDS = 30 * 86_400
START_SECONDS = 5.0
MIB, GIB = 2**20, 2**30


class Measured(Struct, frozen=True):
    """The figures that a region is computed from."""

    tenancy: Tenancy
    redis: RedisLoad
    dynamodb: DynamoLoad
    scrapes: Scrapes
    declared: Declared

    @property
    def request_seconds(self) -> float:
        """CPU of a replica."""
        return median(self.tenancy.many) / 1e6

    @property
    def binding_bytes(self) -> float:
        """Memory of a replica per app that it has served."""
        return (self.tenancy.resident_bytes - self.tenancy.resident_without_bytes) / self.tenancy.tenants

    @property
    def series_per_table(self) -> float:
        """Of a table with puts, gets, and gets that find nothing."""
        return self.scrapes.series / self.scrapes.active

    @property
    def redis_app_bytes(self) -> float:
        """Memory of Redis per app with one table: its records, and its entries."""
        records = self.tenancy.redis_bytes / self.tenancy.tenants
        return records + ENTRIES_PER_APP * self.redis.entry_bytes


class Cell(Struct, frozen=True):
    """Replicas with a store of their own, and the apps that they serve."""

    apps: int
    measured: Measured

    @property
    def mean_per_second(self) -> float:
        return self.apps * MEAN_PER_APP

    @property
    def peak_per_second(self) -> float:
        return self.mean_per_second * PEAK

    @property
    def replicas(self) -> int:
        needed = ceil(self.peak_per_second * self.measured.request_seconds / UTILIZATION)
        return max(needed, FEWEST_REPLICAS)

    @property
    def replica_mib(self) -> float:
        known = min(self.apps * ACTIVE_SHARE, CACHED_BINDINGS)
        return (self.measured.tenancy.resident_without_bytes + known * self.measured.binding_bytes) / MIB

    @property
    def redis_commands(self) -> float:
        """Per second, at the peak."""
        at_rest = sum(self.measured.redis.at_rest[-1].per_second.values())
        return self.peak_per_second * self.measured.redis.per_request + self.replicas * at_rest

    @property
    def redis_gib(self) -> float:
        return self.apps * self.measured.redis_app_bytes / GIB

    @property
    def redis_masters(self) -> int:
        by_commands = self.redis_commands / REDIS_COMMANDS_PER_SECOND / UTILIZATION
        return max(ceil(by_commands), ceil(self.redis_gib / REDIS_NODE_GIB / UTILIZATION))

    @property
    def units_read(self) -> float:
        """Per second, on average."""
        load = self.measured.dynamodb
        per_request = PUT_SHARE * load.put.read_units + (1 - PUT_SHARE) * load.get.read_units
        return self.mean_per_second * per_request + self.replicas * load.at_rest.read_units

    @property
    def units_written(self) -> float:
        """Per second, on average."""
        load = self.measured.dynamodb
        per_request = PUT_SHARE * load.put.written_units + (1 - PUT_SHARE) * load.get.written_units
        return self.mean_per_second * per_request + self.replicas * load.at_rest.written_units

    @property
    def dynamodb_dollars(self) -> float:
        """A month."""
        read = self.units_read * DOLLARS_PER_MILLION_READ
        written = self.units_written * DOLLARS_PER_MILLION_WRITTEN
        stored = self.apps * ENTRIES_PER_APP * 1024 / GIB * DOLLARS_PER_GIB_STORED
        return (read + written) * MONTH_SECONDS / 1e6 + stored

    @property
    def redis_dollars(self) -> float:
        """A month, each master with one copy."""
        return 2 * self.redis_masters * DOLLARS_PER_REDIS_NODE

    @property
    def replica_series(self) -> float:
        """Each replica serves every active table."""
        return self.apps * ACTIVE_SHARE * self.measured.series_per_table

    @property
    def scrape_mib(self) -> float:
        return (
            self.replica_series * self.measured.scrapes.text.sent_bytes / self.measured.scrapes.series / MIB
        )

    @property
    def prometheus_gib(self) -> float | None:
        each = self.measured.scrapes.prometheus_series_bytes
        return None if each is None else self.replicas * self.replica_series * each / GIB


class Bound(Struct, frozen=True):
    """What breaks, and at how many apps."""

    what: str
    apps: float
    then: str


def bounds(measured: Measured) -> Sequence[Bound]:
    """What breaks first comes first."""
    shown = MeteringSettings().max_series / measured.series_per_table / ACTIVE_SHARE
    limit_bytes = MEMORY_LIMIT_MIB * MIB - measured.tenancy.resident_without_bytes
    commands = measured.redis.per_request * MEAN_PER_APP * PEAK
    declared = measured.declared
    found = [
        Bound("series that `metering.max_series` shows", shown, "raise it, and Prometheus with it; or cells"),
        Bound(
            f"memory of a replica, {MEMORY_LIMIT_MIB} MiB in `deploy/base`",
            limit_bytes / measured.binding_bytes / ACTIVE_SHARE,
            "raise the limit",
        ),
        Bound("cache of bindings", CACHED_BINDINGS / ACTIVE_SHARE, "cells"),
        Bound(
            f"one Redis, {REDIS_COMMANDS_PER_SECOND:,} commands a second",
            REDIS_COMMANDS_PER_SECOND / commands,
            "Redis Cluster: entries and counters spread over masters",
        ),
        Bound(
            f"the feed of changes, {MAX_CHANGES:,} in an answer each second",
            MAX_CHANGES * 86_400 / CHANGES_PER_APP_AND_DAY,
            "all bindings are looked up again when more are changed at once; cells",
        ),
        Bound(
            f"apps in the file, read within {START_SECONDS:g} s",
            declared.apps * START_SECONDS / declared.start_cpu_seconds,
            "manage them instead",
        ),
    ]
    return sorted(found, key=lambda bound: bound.apps)
