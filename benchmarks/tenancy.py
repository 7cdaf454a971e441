"""What tenants cost a replica: CPU per request where many call in turn, memory, start-up with declared ones.

One tenant and many are measured in turn, in one process that knows all of them, so that whatever disturbs
the machine disturbs both alike; each batch of many goes on where the last one has ended, so that nobody calls
again soon.
"""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks import gateways
from benchmarks.exchange import Exchange
from benchmarks.figures import Closed, Declared, Tenancy
from benchmarks.gateways import ON_MEMORY, Store, on_redis
from benchmarks.generators import BUSY_SHARE, measure_throughput
from benchmarks.plan import Plan
from benchmarks.processes import Server
from benchmarks.programs import program_output
from benchmarks.redis import running_redis, used_bytes
from benchmarks.tenants import exchanges_of, make_tenants

_PATIENCE_SECONDS = 900.0


def measure_tenancy(folder: Path, plan: Plan) -> Tenancy:
    """Managed apps in a Redis of their own, one table each, called with gets of what is not there."""
    with running_redis() as redis_port:
        before = used_bytes(redis_port)
        tokens = make_tenants(redis_port, plan.region_apps)
        redis_bytes = used_bytes(redis_port) - before
        with gateways.running_gateway(folder, on_redis(redis_port)) as server:
            without_bytes = server.resident_bytes()
            first = _called(server, exchanges_of(tokens, server.port))
            one, many = list[float](), list[float]()
            alone = exchanges_of(tokens[:1] * plan.tenants_at_once, server.port)
            for number in range(plan.tenancy_rounds):
                start = number * plan.tenants_at_once % len(tokens)
                some = exchanges_of(tokens[start : start + plan.tenants_at_once], server.port)
                one.append(_called(server, alone).cpu_microseconds)
                many.append(_called(server, some).cpu_microseconds)
            resident_bytes = server.resident_bytes()
    with running_redis() as redis_port:
        stores = {"memory": ON_MEMORY, "Redis": on_redis(redis_port)}
        in_process = {name: _growth(plan, store) for name, store in stores.items()}
        return Tenancy(len(tokens), first, one, many, resident_bytes, without_bytes, redis_bytes, in_process)


def _called(server: Server, exchanges: Sequence[Exchange]) -> Closed:
    return measure_throughput(server, exchanges, 0.0, refused_share=BUSY_SHARE)


def _growth(plan: Plan, store: Store) -> dict[str, list[float]]:
    amounts = [plan.region_apps, plan.growth_rounds, store]
    return program_output("benchmarks.growth", amounts, dict[str, list[float]], _PATIENCE_SECONDS)


def measure_declared(folder: Path, plan: Plan) -> Declared:
    """Start-up with many apps in the file."""
    apps = [
        {"org": "o", "app": f"app{number}", "type": "api", "tables": [_table(number)]}
        for number in range(plan.declared_apps)
    ]
    config = gateways.write_config(folder, ON_MEMORY, apps=apps)
    started = perf_counter()
    with gateways.running_file(config) as server:
        seconds, cpu_seconds = perf_counter() - started, server.cpu_seconds()
        return Declared(len(apps), seconds, cpu_seconds, server.resident_bytes())


def _table(number: int) -> dict[str, str]:
    return {"name": "t", "token_sha256": f"{number:064x}"}
