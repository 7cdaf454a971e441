"""The figures of a region, as they are kept in `results/region.json`, and the titles of the sections."""

from msgspec import Struct

CHANGES = "Changes"
REDIS = "What Redis is asked"
DYNAMODB = "What DynamoDB is asked"
TENANCY = "CPU by the number of tenants"
DECLARED = "Declared apps"
SCRAPES = "Scrapes"
HOLDS = "Holds of the event loop"
RECLAIMING = "Reclaiming"
MONTH = "A month of billing"
TITLES = (CHANGES, REDIS, DYNAMODB, TENANCY, DECLARED, SCRAPES, HOLDS, RECLAIMING)
"""Of the sections that the page on a region is computed from."""


class Closed(Struct, frozen=True):
    """Requests per second, CPU of the processes per request, and how many were `answered` since the start."""

    per_second: float
    cpu_microseconds: float
    answered: int


class Changes(Struct, frozen=True):
    """Seconds from the answer to a change to the first refusal elsewhere, by kind."""

    apps: int
    seconds: dict[str, list[float]]


class AtRest(Struct, frozen=True):
    """Commands of one replica per second, each by its name, with so many apps in the directory."""

    apps: int
    per_second: dict[str, float]


class RedisLoad(Struct, frozen=True):
    """`per_request`: commands of gets and puts of known tokens; what the replica asks at rest is left out."""

    at_rest: list[AtRest]
    requests: int
    per_request: float
    entry_bytes: float
    """Memory of Redis per entry of 1 KiB."""


class DynamoCost(Struct, frozen=True):
    """Requests by action and kind of item, units read, units written."""

    requests: dict[str, float]
    read_units: float
    written_units: float


class DynamoLoad(Struct, frozen=True):
    """`at_rest` is per second and replica, `put` and `get` per request."""

    apps: int
    at_rest: DynamoCost
    put: DynamoCost
    get: DynamoCost


class Tenancy(Struct, frozen=True):
    """CPU is of the replica's process, in microseconds per request, batch by batch.

    `first` is where each tenant calls for the first time, and is looked up. `in_process` is CPU without a
    kernel, by store and number of tenants that call in turn.
    """

    tenants: int
    first: Closed
    one: list[float]
    many: list[float]
    resident_bytes: int
    resident_without_bytes: int
    redis_bytes: int
    in_process: dict[str, dict[str, list[float]]]


class Declared(Struct, frozen=True):
    """A replica whose apps stand in its file."""

    apps: int
    start_seconds: float
    start_cpu_seconds: float
    resident_bytes: int


class Scrape(Struct, frozen=True):
    """CPU of the gateway's process, the median of some; the longest hold of the loop of all."""

    sent_bytes: int
    cpu_ms: float
    loop_ms: float


class Scrapes(Struct, frozen=True):
    """`prometheus_series_bytes`: memory of a Prometheus per series; None where there is no Prometheus."""

    tables: int
    active: int
    series: int
    text: Scrape
    compressed: Scrape
    prometheus_series_bytes: float | None


class Hold(Struct, frozen=True):
    """The longest hold, in milliseconds: by the loop's own work, and by all threads; and CPU of the whole."""

    loop_ms: float
    all_ms: float
    whole_ms: float


class Operated(Struct, frozen=True):
    """What an operation did to the loop, and to the calls that were made beside it."""

    hold: Hold
    calls: int
    slowest_ms: float


class Window(Struct, frozen=True):
    """Some seconds of calls, beside a walk or without; `scanned`: keys that were looked at in a second."""

    has_walk: bool
    calls: int
    p50_ms: float
    p99_ms: float
    scanned: float
    load: float


class Reclaiming(Struct, frozen=True):
    """Windows in the order in which they were measured."""

    keys: int
    windows: list[Window]


class Month(Struct, frozen=True):
    """`kvs-gateway usage` over a month of a region."""

    tables: int
    samples: int
    requests: int
    seconds: float
    resident_bytes: int
