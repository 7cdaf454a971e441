"""Whether a request costs more where there are more tenants, larger values, more replicas."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, perf_counter, sleep

from msgspec import Struct

from benchmarks import gateways
from benchmarks.gateways import ON_MEMORY, Store, on_redis
from benchmarks.generators import Closed, measure_throughput
from benchmarks.plan import Plan
from benchmarks.processes import Server, free_port
from benchmarks.redis import running_redis, used_bytes
from benchmarks.signed import signed_exchanges
from benchmarks.tenants import exchanges_of, make_tenants

_MAX_REPLICAS = 2
_KEPT_SECONDS = 3600


class Tenants(Struct, frozen=True):
    """`first` finds every token in the store, `then` reads every binding again, `kept` reads none.

    `rest_share` is of a core, while there are no requests.
    """

    tenants: int
    first: Closed
    then: Closed
    kept: Closed
    resident_bytes: int
    redis_bytes: int
    rest_share: float


class Value(Struct, frozen=True):
    """Puts and gets of values of one size."""

    store: str
    value_bytes: int
    put: Closed
    get: Closed


class Replicas(Struct, frozen=True):
    """So many on one port and one core."""

    replicas: int
    put: Closed


class Declared(Struct, frozen=True):
    """A replica whose apps stand in its file."""

    apps: int
    start_seconds: float
    resident_bytes: int


def measure_tenants(folder: Path, plan: Plan) -> Iterator[Tenants]:
    """Managed apps in a Redis of their own, one table each, called in turn."""
    for count in plan.tenants:
        with running_redis() as redis_port:
            before = used_bytes(redis_port)
            tokens = make_tenants(redis_port, count)
            redis_bytes = used_bytes(redis_port) - before
            with gateways.running_gateway(folder, on_redis(redis_port)) as server:
                rest_share = _rest_share(server, plan.rest_seconds)
                exchanges = exchanges_of(tokens, server.port)
                first = measure_throughput(server, exchanges, 0.0)
                sleep(plan.cache_seconds)  # else what was read at the end is not due yet
                then = measure_throughput(server, exchanges, plan.closed_seconds)
                resident_bytes = server.resident_bytes()
            kept = _kept(folder, on_redis(redis_port), tokens, plan)
            yield Tenants(count, first, then, kept, resident_bytes, redis_bytes, rest_share)


def _kept(folder: Path, store: Store, tokens: Sequence[str], plan: Plan) -> Closed:
    """What a request costs where no binding has to be read."""
    config = gateways.write_config(folder, store, directory={"cache_ttl_seconds": _KEPT_SECONDS})
    with gateways.running_file(config) as server:
        exchanges = exchanges_of(tokens, server.port)
        measure_throughput(server, exchanges, 0.0)
        return measure_throughput(server, exchanges, plan.closed_seconds)


def _rest_share(server: Server, seconds: float) -> float:
    before, started = server.cpu_seconds(), monotonic()
    sleep(seconds)
    return (server.cpu_seconds() - before) / (monotonic() - started)


def measure_values(folder: Path, redis_port: int, plan: Plan) -> Iterator[Value]:
    """1 KiB and the largest there may be."""
    stores: dict[str, Store] = {"memory": ON_MEMORY, "Redis": on_redis(redis_port)}
    for name, store in stores.items():
        for value_bytes in (1024, 65_536):
            value = b'"%b"' % (b"x" * (value_bytes - 2))
            with gateways.running_gateway(folder, store) as server:
                put, get = (
                    measure_throughput(
                        server, signed_exchanges(server.port, operation, value), plan.closed_seconds
                    )
                    for operation in ("put", "get")
                )
                yield Value(name, value_bytes, put, get)


def measure_replicas(folder: Path, redis_port: int, plan: Plan) -> Iterator[Replicas]:
    """On the one core that is there for servers, so what is to be seen is whether sharing costs anything."""
    for count in range(1, _MAX_REPLICAS + 1):
        port = free_port()
        with ExitStack() as opened:
            each = [
                opened.enter_context(gateways.running_gateway(folder, on_redis(redis_port), port=port))
                for _ in range(count)
            ]
            both = Server(port, tuple(process for server in each for process in server.processes))
            exchanges = signed_exchanges(port, "put")
            yield Replicas(count, measure_throughput(both, exchanges, plan.closed_seconds))


def measure_declared(folder: Path, plan: Plan) -> Declared:
    """Start-up with many apps in the file."""
    apps = [
        {"org": "o", "app": f"app{number}", "type": "api", "tables": [_table(number)]}
        for number in range(plan.declared_apps)
    ]
    config = gateways.write_config(folder, ON_MEMORY, apps=apps)
    started = perf_counter()
    with gateways.running_file(config) as server:
        return Declared(len(apps), perf_counter() - started, server.resident_bytes())


def _table(number: int) -> dict[str, str]:
    return {"name": "t", "token_sha256": f"{number:064x}"}
