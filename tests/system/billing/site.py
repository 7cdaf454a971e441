"""A site: gateways at several places on one Redis, and a Prometheus that watches all places."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.config import BASE, merged
from tests.support.gateway import Gateway
from tests.support.load import client_of
from tests.support.ports import HOST
from tests.support.process import GatewayProcess
from tests.support.prometheus import PrometheusServer
from tests.support.redis import RedisServer
from tests.support.servers import wait_for
from tests.system.billing.traffic import APPS, Bill

FIRST_SAMPLE_SECONDS = 2.0
"""Prometheus scrapes every second."""

SHUTDOWN = {"drain_seconds": 0.2, "grace_seconds": 20}


@dataclass(frozen=True)
class Place:
    """Ports at which a gateway may listen."""

    data_port: int
    ops_port: int

    @property
    def ops_url(self) -> str:
        return f"http://{HOST}:{self.ops_port}"


class Site:
    """`gateways` are those that run, by their places. `places` has those that were never used."""

    def __init__(
        self, folder: Path, redis: RedisServer, prometheus: PrometheusServer, places: list[Place]
    ) -> None:
        self.gateways: dict[Place, Gateway] = {}
        self.places = places
        self.prometheus = prometheus
        self._redis = redis
        self._folder = folder
        self._processes: dict[Place, GatewayProcess] = {}
        self._changed_at: dict[Place, float] = {}
        self._folders = count()
        self._opened = AsyncExitStack()

    async def start(self, place: Place, **changes: Any) -> None:
        """Start a gateway, and use it when it is ready."""
        folder = self._folder / str(next(self._folders))
        folder.mkdir(parents=True)
        config = {
            "listen": {"data": {"port": place.data_port}, "ops": {"port": place.ops_port}},
            "store": {"kind": "redis", "url": self._redis.url},
            "rate_limit": {"requests_per_minute": 1_000_000},
            "apps": APPS,
            "metering": {"first_sample_seconds": FIRST_SAMPLE_SECONDS},
            "shutdown": SHUTDOWN,
        }
        process = await asyncio.to_thread(GatewayProcess, merged(merged(BASE, config), changes), folder)
        self._opened.push_async_callback(asyncio.to_thread, process.__exit__)
        self._processes[place] = process
        gateway = await self._opened.enter_async_context(client_of(process))
        async with asyncio.timeout(10):
            while (await gateway.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110 - there is no event to await
                await asyncio.sleep(0.02)
        self.gateways[place] = gateway
        self._changed_at[place] = time.time()

    async def end(self, place: Place) -> None:
        """SIGTERM under whatever load there is: the gateway drains and waits for its last scrape."""
        await self.until_scraped(place)
        process = self._processes.pop(place)
        process.signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 0
        self._left(place)

    async def kill(self, place: Place) -> None:
        """SIGKILL."""
        process = self._processes.pop(place)
        process.signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
        self._left(place)

    def _left(self, place: Place) -> None:
        self._changed_at[place] = time.time()
        del self.gateways[place]

    async def end_all(self) -> None:
        """Waits until Prometheus finds the address down: it has stored every sample by then."""
        await asyncio.gather(*map(self.end, list(self.gateways)))
        await self.until_scraped(*self._changed_at, up=False)

    async def until_scraped(self, *places: Place, up: bool = True) -> None:
        """Waits for a later scrape that finds each gateway up or gone."""
        for place in places:
            since = self._changed_at[place]
            await asyncio.to_thread(self.prometheus.wait_until, place.ops_url, up=up, since=since)

    async def until_hidden(self, place: Place) -> None:
        """Waits until all tables are idle and Prometheus has scraped without them."""
        shown = f'count(kvs_usage_requests_total{{instance="{HOST}:{place.ops_port}"}})'
        await asyncio.to_thread(
            wait_for, lambda: not self.prometheus.query(shown), "the tables do not become idle"
        )

    def last_scrape(self, place: Place) -> float:
        """Returns the Unix time at which the last scrape with usage began; 0 if none has shown any."""
        series = self.prometheus.query(f'kvs_usage_requests_total{{instance="{HOST}:{place.ops_port}"}}[5m]')
        return max((each["values"][-1][0] for each in series), default=0.0)

    async def close(self) -> None:
        await self._opened.aclose()


def now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True)
class Statement:
    rows: Bill
    warnings: Mapping[str, Any]


async def usage(prometheus: PrometheusServer, begin: str, end: str, *options: str) -> Statement:
    """Runs the command as users do and returns its output."""
    document = json.loads(await command(prometheus.url, begin, end, *options))
    tenant = ("org", "app", "env", "table", "operation")
    rows = {tuple(row.pop(name) for name in tenant): row for row in document["rows"]}
    return Statement(rows, {warning["warning"]: warning for warning in document["warnings"]})


async def command(url: str, begin: str, end: str, *options: str) -> str:
    invocation = [sys.executable, "-m", "gateway", "usage", "--prometheus", url, "--from", begin, "--to", end]
    done = await asyncio.to_thread(
        subprocess.run,
        [*invocation, *options],
        capture_output=True,
        text=True,
        env={**os.environ},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def added(parts: Sequence[Statement]) -> Bill:
    """The sum of statements."""
    rows: Bill = {}
    for part in parts:
        for row, columns in part.rows.items():
            rows.setdefault(row, Counter()).update(columns)
    return rows


def total(bill: Bill) -> Counter[str]:
    """All rows in one, of what is not 0."""
    return sum(map(Counter, bill.values()), Counter())


def differences(stated: Bill, expected: Bill) -> dict[Any, Any]:
    """Differences by row and column: stated and expected value."""
    found = {}
    for row in stated.keys() | expected.keys():
        left, right = stated.get(row, {}), expected.get(row, {})
        for column in left.keys() | right.keys():
            if left.get(column, 0) != right.get(column, 0):
                found[row, column] = (left.get(column, 0), right.get(column, 0))
    return found
