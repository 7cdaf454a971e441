"""How long the event loop is held while a large directory is listed, reloaded and scraped.

A program: `python -m benchmarks.holds APPS DECLARED REDIS_PORT`. The gateway runs in this process, on a Redis
with so many managed apps and a file with so many declared ones; who asks is a process of its own.
"""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time, thread_time

import msgspec
import uvloop
from msgspec import Struct

from backends.interface import RecordStore
from benchmarks.signed import gateway_config
from gateway.app import App, build_app
from gateway.config.loading import ConfigurationFile
from gateway.directory.records import AppRecord, TableRecord, app_name, encode
from gateway.domain.model import Environment

_BEAT_SECONDS = 0.001
_AT_ONCE = 256
_ORG = "managed"
_APPS_PER_ORG = 10
_CONTROL_TOKEN = "token-of-the-benchmark"


class Hold(Struct, frozen=True):
    """The longest hold, in milliseconds of processor time: by the loop's own work, and by all threads."""

    loop_ms: float
    all_ms: float
    whole_ms: float


async def _measure(work: Callable[[], Awaitable[object]]) -> Hold:
    longest = [0.0, 0.0]

    async def beat() -> None:
        while True:
            loop, everything = thread_time(), process_time()
            await asyncio.sleep(_BEAT_SECONDS)
            longest[0] = max(longest[0], thread_time() - loop)
            longest[1] = max(longest[1], process_time() - everything - _BEAT_SECONDS)

    began = process_time()
    beating = asyncio.create_task(beat())
    await asyncio.sleep(10 * _BEAT_SECONDS)
    await work()
    await asyncio.sleep(10 * _BEAT_SECONDS)
    beating.cancel()
    with suppress(asyncio.CancelledError):
        await beating
    return Hold(1000 * longest[0], 1000 * longest[1], 1000 * (process_time() - began))


async def _run(apps: int, declared: int, redis_port: int) -> dict[str, Hold]:
    with TemporaryDirectory() as folder:
        file = ConfigurationFile(_configuration(Path(folder), declared, redis_port), {})
        app = await build_app(file.load())
        async with app.replica.running():
            await _write(app.stores.records, apps)
            gc.collect()
            gc.freeze()  # as `gateway.replica.run` does
            return {
                f"`apps list` of {apps:,} apps": await _measure(lambda: _command(app, "apps", "--org", _ORG)),
                f"`orgs list` of {apps // _APPS_PER_ORG:,} organizations": await _measure(
                    lambda: _command(app, "orgs")
                ),
                f"reload of {declared:,} declared apps": await _measure(lambda: app.reload.run(file)),
                "scrape": await _measure(lambda: _scrape(app)),
            }


def _configuration(folder: Path, declared: int, redis_port: int) -> Path:
    apps = [
        {"org": "declared", "app": f"app{number}", "type": "api", "tables": [_table(number)]}
        for number in range(declared)
    ]
    config = gateway_config(0, 0, {"kind": "redis", "url": f"redis://127.0.0.1:{redis_port}/0"})
    path = folder / "gateway.yaml"
    control = {"tokens": [_CONTROL_TOKEN]}
    path.write_bytes(msgspec.yaml.encode({**config, "control": control, "apps": apps}))
    return path


def _table(number: int) -> dict[str, str]:
    return {"name": "t", "token_sha256": f"{number:064x}"}


async def _write(records: RecordStore, count: int) -> None:
    """As many in one organization as in small ones."""
    for start in range(0, count, _AT_ONCE):
        step = range(start, min(start + _AT_ONCE, count))
        await asyncio.gather(*(_write_one(records, org, n) for n in step for org in _orgs(n)))


def _orgs(number: int) -> tuple[str, str]:
    return _ORG, f"org{number // _APPS_PER_ORG}"


async def _write_one(records: RecordStore, org: str, number: int) -> None:
    table = TableRecord(id=f"tbl_{number:032x}", name="t", token_sha256=f"{number:064x}")
    environment = Environment(org, f"app{number}", "production")
    app = AppRecord(environment, "api", active=True, tables=(table,))
    await records.swap(app_name(environment), encode(app), None)


async def _command(app: App, kind: str, *arguments: str) -> None:
    url = app.replica.urls["control"]
    await _program("-m", "gateway", kind, "list", "--url", url, *arguments)


async def _scrape(app: App) -> None:
    url = f"{app.replica.urls['ops']}/metrics"
    await _program("-c", f"from urllib.request import urlopen; urlopen({url!r}).read()")


async def _program(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env={"KVS_CONTROL_TOKEN": _CONTROL_TOKEN},
        stdout=asyncio.subprocess.DEVNULL,
    )
    if await process.wait() != 0:
        raise RuntimeError(f"{arguments} failed")


if __name__ == "__main__":
    found = uvloop.run(_run(*map(int, sys.argv[1:4])))
    sys.stdout.buffer.write(msgspec.json.encode(found))
