"""How long the event loop is held, and how late calls are, beside lists, scrapes, a reload and a purge.

A program: `python -m benchmarks.holds APPS DECLARED TABLES KEYS REDIS_PORT`. The gateway is in this process,
on a Redis with so many managed apps and foreign keys, and a file with so many declared apps; so many tables
were called. Who asks, and who calls the data plane meanwhile, are processes on the other core.
"""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import msgspec
import uvloop
from msgspec import Struct

from benchmarks.aside import RunProgram, calling, running_programs
from benchmarks.beside import Calls
from benchmarks.figures import Hold, Operated
from benchmarks.loop_watch import watch
from benchmarks.processes import free_port
from benchmarks.redis import fill
from benchmarks.signed import gateway_config
from benchmarks.tenants import environment_of, write_record, write_tenants
from gateway.app import App, build_app
from gateway.config.loading import ConfigurationFile
from gateway.directory.records import AppRecord, app_name, encode
from gateway.directory.tokens import new_token
from gateway.domain.model import Environment, Operation, TenantLabels, UsageOutcome

_ORG = "managed"
_AT_ONCE = 128
_LOOK_SECONDS = 0.05
_WALKED_SHARE = 0.9
"""Of the keys: a walk counts steps, which are larger than they ask for."""
_CALM_SECONDS = 3.0

_SHOWN = [
    (Operation.PUT, UsageOutcome.OK),
    (Operation.GET, UsageOutcome.OK),
    (Operation.GET, UsageOutcome.NOT_FOUND),
]
"""Of each table that was called: seven series."""

Work = Callable[[], Awaitable[object]]


class Amounts(Struct, frozen=True):
    """How much there is of everything."""

    apps: int
    declared: int
    tables: int
    keys: int
    redis_port: int


async def _run(amounts: Amounts) -> dict[str, Operated]:
    with TemporaryDirectory() as folder:
        file = ConfigurationFile(_configuration(Path(folder), amounts), {})
        app = await build_app(file.load())
        async with app.replica.running():
            await _fill(app, amounts)
            gc.collect()
            gc.freeze()  # as `gateway.replica.run` does
            async with running_programs() as run, calling(app) as finish:
                operations = _operations(app, file, amounts, run)
                measured = {name: await _timed(work) for name, work in operations.items()}
                calls = await finish()
        return {name: _operated(hold, calls, began, ended) for name, (hold, began, ended) in measured.items()}


def _operations(app: App, file: ConfigurationFile, amounts: Amounts, run: RunProgram) -> dict[str, Work]:
    control, ops = app.replica.urls["control"], app.replica.urls["ops"]
    apps = f"{control}/v1/orgs/{_ORG}/apps?limit=100"
    doomed = environment_of(0)
    removing = ["apps", "remove", "--org", doomed.org, "--app", doomed.app, "--yes"]

    async def reclaim() -> None:
        await command(*removing)()
        while app.directory.reclaimer.scanned < _WALKED_SHARE * amounts.keys:
            await asyncio.sleep(_LOOK_SECONDS)

    def command(*words: str) -> Work:
        return lambda: run("-m", "gateway", *words, "--url", control)

    def read(url: str, pages: int, encoding: str = "identity") -> Work:
        return lambda: run("-m", "benchmarks.pages", url, str(pages), encoding)

    return {
        "nothing": lambda: asyncio.sleep(_CALM_SECONDS),
        f"`apps list` of {amounts.apps:,} apps": command("apps", "list", "--org", _ORG),
        f"`orgs list` of {amounts.apps // 10:,} orgs": command("orgs", "list"),
        "100 pages of 100 apps, as a console reads them": read(apps, 100),
        f"scrape, {amounts.tables:,} tables in use": read(f"{ops}/metrics", 1),
        "the same scrape, compressed": read(f"{ops}/metrics", 1, "gzip"),
        f"reload of {amounts.declared:,} declared apps": lambda: app.reload.run(file),
        f"reclaiming beside {amounts.keys:,} foreign keys": reclaim,
    }


async def _timed(work: Work) -> tuple[Hold, float, float]:
    began = monotonic()
    return await watch(work), began, monotonic()


def _operated(hold: Hold, calls: Calls, began: float, ended: float) -> Operated:
    """With the calls that were waiting at any time in between."""
    beside = [1000 * seconds for at, seconds in calls if at < ended and at + seconds > began]
    return Operated(hold, len(beside), max(beside))


def _configuration(folder: Path, amounts: Amounts) -> Path:
    apps = [
        {"org": "declared", "app": f"app{number}", "type": "api", "tables": [_table(number)]}
        for number in range(amounts.declared)
    ]
    store = {"kind": "redis", "url": f"redis://127.0.0.1:{amounts.redis_port}/0"}
    config = gateway_config(free_port(), 0, store)
    path = folder / "gateway.yaml"
    path.write_bytes(msgspec.yaml.encode({**config, "apps": [*config["apps"], *apps]}))
    return path


def _table(number: int) -> dict[str, str]:
    return {"name": "t", "token_sha256": f"{number:064x}"}


async def _fill(app: App, amounts: Amounts) -> None:
    """As many apps in one organization as in small ones; tables that were called; keys of others."""
    await write_tenants(app.stores.records, [new_token() for _ in range(amounts.apps)])
    for start in range(0, amounts.apps, _AT_ONCE):
        step = range(start, min(start + _AT_ONCE, amounts.apps))
        await asyncio.gather(*(_write_one(app, number) for number in step))
    for number in range(amounts.tables):
        environment = environment_of(number)
        labels = TenantLabels(environment.org, environment.app, environment.env, "t")
        for operation, outcome in _SHOWN:
            app.data.usage.count(labels, operation, outcome, 1000, 100)
    await asyncio.to_thread(fill, amounts.redis_port, amounts.keys)


async def _write_one(app: App, number: int) -> None:
    environment = Environment(_ORG, f"app{number}", "production")
    record = AppRecord(environment, "api", active=True)
    await write_record(app.stores.records, app_name(environment), encode(record))


if __name__ == "__main__":
    found = uvloop.run(_run(Amounts(*map(int, sys.argv[1:6]))))
    sys.stdout.buffer.write(msgspec.json.encode(found))
