"""Memory of a replica, at rest and after much work, and how long one takes to be ready."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from socket import create_connection
from statistics import median
from time import monotonic, perf_counter

from msgspec import Struct

from benchmarks import gateways
from benchmarks.generators import measure_throughput
from benchmarks.plan import Plan
from benchmarks.processes import Server
from benchmarks.signed import signed_exchanges
from benchmarks.tables import number, table

_SLICE_SECONDS = 5.0


class Footprint(Struct, frozen=True):
    """Bytes, seconds and requests."""

    start_seconds: float
    resident_bytes: int
    idle_connection_bytes: float
    bare_idle_connection_bytes: float
    after_requests: int
    after_bytes: int


def measure_footprint(folder: Path, plan: Plan) -> Footprint:
    """Figures of the gateway on memory, whose store holds 1,024 entries of 1 KiB."""
    starting = partial(gateways.running_gateway, folder, gateways.ON_MEMORY)
    starts = [_start_seconds(starting) for _ in range(plan.starts)]
    with gateways.bare() as bare:
        bare_bytes = _bytes_per_connection(bare, plan.idle_connections)
    with starting() as server:
        resident_bytes = server.resident_bytes()
        connection_bytes = _bytes_per_connection(server, plan.idle_connections)
    with starting() as server:
        requests = _serve(server, plan)
        after_bytes = server.resident_bytes()
    return Footprint(median(starts), resident_bytes, connection_bytes, bare_bytes, requests, after_bytes)


def footprint_table(figures: Footprint) -> str:
    """One line per figure."""
    mib = 2**20
    return table(
        ["of the gateway on memory", "figure"],
        [
            ["from the start of the process to ready", f"{figures.start_seconds:.2f} s"],
            ["resident at rest", f"{number(figures.resident_bytes / mib, 1)} MiB"],
            [
                f"resident after {figures.after_requests:,} requests",
                f"{number(figures.after_bytes / mib, 1)} MiB",
            ],
            ["per idle connection that has served", f"{number(figures.idle_connection_bytes / 1024, 1)} KiB"],
            ["the same of bare aiohttp", f"{number(figures.bare_idle_connection_bytes / 1024, 1)} KiB"],
        ],
    )


def _start_seconds(starting: Callable[[], AbstractContextManager[Server]]) -> float:
    started = perf_counter()
    with starting():
        return perf_counter() - started


def _bytes_per_connection(server: Server, count: int) -> float:
    """Each has served one request; a first lot of connections has made the process grow to its size."""
    with _connections(server, count // 4):
        pass
    before = server.resident_bytes()
    with _connections(server, count):
        return (server.resident_bytes() - before) / count


@contextmanager
def _connections(server: Server, count: int) -> Iterator[None]:
    request = signed_exchanges(server.port, "put")[0].request
    with ExitStack() as opened:
        for _ in range(count):
            connection = opened.enter_context(create_connection(("127.0.0.1", server.port), timeout=5))
            connection.sendall(request)
            connection.recv(4096)
        yield


def _serve(server: Server, plan: Plan) -> int:
    served, given_up = 0, monotonic() + plan.requests_seconds
    while served < plan.requests and monotonic() < given_up:
        exchanges = [
            each for operation in ("put", "get") for each in signed_exchanges(server.port, operation)
        ]
        per_slice = min(_SLICE_SECONDS, (plan.requests - served) / 10_000)
        served += measure_throughput(server, exchanges, per_slice).answered
    return served
