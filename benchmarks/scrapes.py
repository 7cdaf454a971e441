"""A scrape where 10,000 of 100,000 tables are in use: how large, how long, and what Prometheus keeps of it.

A program: `python -m benchmarks.scrapes TABLES ACTIVE`. The gateway runs in this process, on memory; each of
the active tables is called three times, for seven series.
"""

import asyncio
import gc
import sys
from collections.abc import Sequence
from statistics import median
from time import process_time
from urllib.request import Request, urlopen

import msgspec
import uvloop
import yaml

from benchmarks.aside import RunProgram, running_programs
from benchmarks.figures import Scrape, Scrapes
from benchmarks.loop_watch import watch
from benchmarks.prometheus import scraping_bytes
from benchmarks.signed import gateway_config
from benchmarks.silent import open_connection
from benchmarks.tenants import GET_FOUND, GET_MISSING, PUT, TenantCall, signed_head, write_tenants
from gateway.app import App, build_app
from gateway.config.loading import parse as parse_settings
from gateway.directory.tokens import new_token

_TIMES = 5
_PORT = 8080
_SAMPLE = b"\nkvs_usage_"


async def _run(tables: int, active: int) -> Scrapes:
    config = gateway_config(0, 0, {"kind": "memory"})
    config["metering"] = {"first_sample_seconds": 0}
    app = await build_app(parse_settings(yaml.safe_dump(config), {}))
    tokens = [new_token() for _ in range(tables)]
    async with app.replica.running(), running_programs() as run:
        url = f"{app.replica.urls['ops']}/metrics/usage"
        await write_tenants(app.stores.records, tokens)
        idle_bytes = await asyncio.to_thread(scraping_bytes, url)
        for call in (GET_MISSING, PUT, GET_FOUND):
            await _call_each(app, call, tokens[:active])
        gc.collect()
        gc.freeze()  # as `gateway.replica.run` does
        series = (await asyncio.to_thread(_read, url, "identity")).count(_SAMPLE)
        text, compressed = [await _scrape(run, url, encoding) for encoding in ("identity", "gzip")]
        full_bytes = await asyncio.to_thread(scraping_bytes, url)
        kept = None if full_bytes is None or idle_bytes is None else (full_bytes - idle_bytes) / series
        return Scrapes(tables, active, series, text, compressed, kept)


async def _call_each(app: App, call: TenantCall, tokens: Sequence[str]) -> None:
    connection = open_connection(app, app.data.handler.handle)
    await asyncio.sleep(0)
    head = signed_head(_PORT, call)
    for token in tokens:
        await connection.answer_to(b"%b%b\r\n\r\n%b" % (head, token.encode(), call.body))
        if not connection.written.endswith(call.answer):
            raise SystemExit("the gateway did not answer as expected")


async def _scrape(run: RunProgram, url: str, encoding: str) -> Scrape:
    sent = len(await asyncio.to_thread(_read, url, encoding))
    costs, holds = [], []
    for _ in range(_TIMES):
        began = process_time()
        hold = await watch(lambda: run("-m", "benchmarks.pages", url, "1", encoding))
        costs.append(1000 * (process_time() - began))
        holds.append(hold.loop_ms)
    return Scrape(sent, median(costs), max(holds))


def _read(url: str, encoding: str) -> bytes:
    with urlopen(Request(url, headers={"Accept-Encoding": encoding})) as answer:
        return bytes(answer.read())


if __name__ == "__main__":
    found = uvloop.run(_run(int(sys.argv[1]), int(sys.argv[2])))
    sys.stdout.buffer.write(msgspec.json.encode(found))
