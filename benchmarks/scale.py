"""Whether a request costs more where there are larger values, or more replicas on a core."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from benchmarks import gateways
from benchmarks.figures import Closed
from benchmarks.gateways import ON_MEMORY, Store, on_redis
from benchmarks.generators import measure_throughput
from benchmarks.plan import Plan
from benchmarks.processes import Server, free_port
from benchmarks.signed import signed_exchanges

_MAX_REPLICAS = 2


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
