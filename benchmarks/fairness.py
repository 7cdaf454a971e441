"""Latency of gets while clients of the other listeners repeat their most expensive requests.

Also a program of its own: `python -m benchmarks.fairness`. The clients share a core with Redis and with the
generator of the gets, so a part of the growth is theirs.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import sleep
from typing import Any

import yaml
from msgspec import Struct

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from benchmarks.exchange import Exchange, write_exchanges
from benchmarks.gateways import ConfigFile, on_redis, running_file
from benchmarks.generators import measure_latency
from benchmarks.plan import Plan, chosen_plan
from benchmarks.processes import GENERATOR_CORE, Server, free_port, pin
from benchmarks.redis import running_redis
from benchmarks.signed import CONTROL_TOKEN, gateway_config, signed_exchanges
from benchmarks.tables import table
from gateway.directory.records import AppRecord, TableRecord, app_name, encode
from gateway.domain.model import Environment

FAIRNESS = """\
Gets at 200 a second on Redis with 20,000 apps, p50 / p99 in milliseconds, while so many clients repeat a
request, each on a connection of its own."""

CLIENTS = (0, 1, 8, 32)
APPS = 20_000
RATE = 200

_TABLES = 10
_KEYS = 100
_AT_ONCE = 16
_ROLE = "arn:aws:iam::123456789012:role/managed-app-bench"
_OWN_TOKEN = "bench-workload-token"
_UNBOUNDED = 1_000_000_000
_START_SECONDS = 1.0
"""For the clients to connect."""


class Hammered(Struct, frozen=True):
    """One request, repeated by `clients`: p50 and p99 of the gets, in each round."""

    request: str
    clients: int
    p50_ms: list[float]
    p99_ms: list[float]


class _Ports(Struct, frozen=True):
    data: int
    ops: int
    control: int
    credentials: int


def measure_fairness(folder: Path, redis_port: int, plan: Plan) -> list[Hammered]:
    """Every request with every number of clients, in each round."""
    asyncio.run(_fill(redis_port))
    measured: dict[tuple[str, int], Hammered] = {}
    with _running(folder, redis_port) as (server, ports):
        puts, gets = (signed_exchanges(ports.data, operation)[:_KEYS] for operation in ("put", "get"))
        measure_latency(server, puts, 1.0, RATE)
        for _ in range(plan.fairness_rounds):
            for name, port, exchange in _requests(ports):
                for clients in CLIENTS:
                    row = measured.setdefault((name, clients), Hammered(name, clients, [], []))
                    with _hammering(port, exchange, clients):
                        found = sorted(measure_latency(server, gets, plan.fairness_seconds, RATE))
                    row.p50_ms.append(found[len(found) // 2])
                    row.p99_ms.append(found[len(found) * 99 // 100])
    return list(measured.values())


def fairness_table(measured: Sequence[Hammered]) -> str:
    """One line for each request."""
    rows: dict[str, list[str]] = {}
    for each in measured:
        cell = f"{median(each.p50_ms):.1f} / {median(each.p99_ms):.1f}"
        rows.setdefault(each.request, [each.request]).append(cell)
    return table(["request", *(f"{clients} clients" for clients in CLIENTS)], list(rows.values()))


def _requests(ports: _Ports) -> Iterator[tuple[str, int, Exchange]]:
    """Yields the most expensive requests of each listener: name, port, exchange."""
    bearer = f"Authorization: Bearer {CONTROL_TOKEN}\r\n"
    for name, target in {
        "apps, 1,000 a page": "/v1/orgs/acme/apps?limit=1000",
        "apps, the default page": "/v1/orgs/acme/apps",
        "organizations": "/v1/orgs",
        "tables of one app": "/v1/orgs/acme/apps/app-00000/services/kvs/tables?env=production",
    }.items():
        yield name, ports.control, _get(target, bearer, b"[{")
    yield "a wrong token", ports.control, _get("/v1/orgs", "Authorization: Bearer no\r\n", b"", 401)
    token = f"Authorization: {_OWN_TOKEN}\r\n"
    yield "credentials", ports.credentials, _get("/v1/credentials/container", token, b'{"Acc')
    yield "metrics", ports.ops, _get("/metrics", "", b"# HELP")
    yield "metrics, gzip", ports.ops, _get("/metrics", "Accept-Encoding: gzip\r\n", b"\x1f\x8b")
    yield "readiness", ports.ops, _get("/readyz", "", b"{")


def _get(target: str, fields: str, begins: bytes, status: int = 200) -> Exchange:
    head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"
    return Exchange(head.encode(), begins, str(status).encode(), is_whole=False)


@contextmanager
def _hammering(port: int, exchange: Exchange, clients: int) -> Iterator[None]:
    if not clients:
        yield
        return
    command = [sys.executable, "-m", "benchmarks.hammer", str(port), str(clients)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=pin(GENERATOR_CORE))
    try:
        if process.stdin is not None:
            process.stdin.write(write_exchanges([exchange]))
            process.stdin.close()
        sleep(_START_SECONDS)
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def _running(folder: Path, redis_port: int) -> Iterator[tuple[Server, _Ports]]:
    ports = _Ports(*(free_port() for _ in range(4)))
    config: dict[str, Any] = gateway_config(ports.data, ports.ops, on_redis(redis_port))
    config["listen"]["control"]["port"] = ports.control
    config["listen"]["credentials"] = {
        "port": ports.credentials,
        "requests_per_minute_per_address": _UNBOUNDED,
    }
    config["signature"]["credentials"]["session"] = {"master_keys": ["bench-master-key-of-32-characters-"]}
    config["workloads"] = [{"tokens": [{"token": _OWN_TOKEN, "role": _ROLE, "org": "o", "app": "a"}]}]
    file = folder / "fairness.yaml"
    file.write_text(yaml.safe_dump(config))
    with running_file(ConfigFile(file, ports.data, ports.ops, ports.control)) as server:
        yield server, ports


async def _fill(redis_port: int) -> None:
    """Writes the records of all apps, as the control plane would."""
    store = await open_backend(RedisSettings(url=on_redis(redis_port)["url"]), SystemClock())
    for start in range(0, APPS, _AT_ONCE):
        apps = [_app(number) for number in range(start, min(start + _AT_ONCE, APPS))]
        written = (store.records.swap(app_name(app.environment), encode(app), None) for app in apps)
        await asyncio.gather(*written)
    await store.close()


def _app(number: int) -> AppRecord:
    org = "acme" if number < APPS // 2 else f"org-{number:05d}"
    tables = tuple(
        TableRecord(id=f"tbl_{number:016x}{each:016x}", name=f"T{each}", token_sha256=f"{number:064x}")
        for each in range(_TABLES)
    )
    environment = Environment(org, f"app-{number:05d}", "production")
    return AppRecord(environment=environment, type="api", active=True, tables=tables)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, running_redis() as redis:
        print(fairness_table(measure_fairness(Path(name), redis, chosen_plan())))
