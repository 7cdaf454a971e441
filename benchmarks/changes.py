"""How long until a change that one replica has answered is in force on another.

Two gateways on one Redis with many apps. An app is called through the second, changed through the first, and
called through the second again every few milliseconds until it is refused there. Changes begin at random
times, because a replica reads the feed of changes once a second.
"""

import asyncio
import random
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from time import monotonic

import aiohttp
import uvloop
from msgspec import Struct

from benchmarks import gateways
from benchmarks.figures import Changes
from benchmarks.gateways import ConfigFile, on_redis
from benchmarks.plan import Plan
from benchmarks.processes import Unmeasurable
from benchmarks.redis import running_redis
from benchmarks.signed import CONTROL_TOKEN
from benchmarks.tenants import GET_MISSING, make_tenants, place_of, signed_fields

_PAUSE_SECONDS = 0.005
_MEAN_SECONDS_BETWEEN = 0.25
_GIVEN_UP_SECONDS = 90.0

KINDS: dict[str, tuple[str, str, dict[str, object] | None, int]] = {
    "token revoked": ("POST", "/services/kvs/tables/t/rotate", None, 401),
    "app suspended": ("POST", "/suspend", None, 403),
    "limit lowered": ("PUT", "", {"type": "api", "requests_per_minute": 1}, 429),
}
"""Method, path behind the app's, body; and how a call is refused then."""


def measure_changes(folder: Path, plan: Plan) -> Changes:
    """As many changes as planned, of each kind as many."""
    with running_redis() as redis_port, ExitStack() as opened:
        tokens = make_tenants(redis_port, plan.region_apps)
        here, there = (gateways.write_config(folder, on_redis(redis_port)) for _ in range(2))
        for each in (here, there):
            opened.enter_context(gateways.running_file(each))
        return Changes(plan.region_apps, uvloop.run(_change_all(here, there, tokens, plan.changes)))


async def _change_all(
    here: ConfigFile, there: ConfigFile, tokens: Sequence[str], count: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}

    async def change(number: int, kind: str) -> None:
        found[kind].append(await _Change(http, here, there, kind).seconds(number, tokens[number]))

    async with aiohttp.ClientSession() as http, asyncio.TaskGroup() as tasks:
        for number, kind in zip(range(count), cycle(KINDS), strict=False):
            tasks.create_task(change(number, kind))
            await asyncio.sleep(random.uniform(0, 2 * _MEAN_SECONDS_BETWEEN))
    return found


class _Change(Struct, frozen=True):
    """One change of an app, `here`, and its effect `there`."""

    http: aiohttp.ClientSession
    here: ConfigFile
    there: ConfigFile
    kind: str

    async def seconds(self, number: int, token: str) -> float:
        """From its answer to the first refusal."""
        method, path, body, refused = KINDS[self.kind]
        self._expect(await self._call(token), 200)
        url = f"http://127.0.0.1:{self.here.control_port}{place_of(number)}{path}"
        headers = {"Authorization": f"Bearer {CONTROL_TOKEN}"}
        async with self.http.request(method, url, json=body, headers=headers) as answer:
            self._expect(answer.status, 200)
        changed_at = monotonic()
        while (status := await self._call(token)) != refused:
            self._expect(status, 200)
            if monotonic() - changed_at > _GIVEN_UP_SECONDS:
                raise Unmeasurable(f"{self.kind}: not in force after {_GIVEN_UP_SECONDS:g} s")
            await asyncio.sleep(_PAUSE_SECONDS)
        return monotonic() - changed_at

    async def _call(self, token: str) -> int:
        port = self.there.port
        fields = {**signed_fields(port, GET_MISSING), "X-KVS-Authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{port}/v1/get"
        async with self.http.post(url, data=GET_MISSING.body, headers=fields) as answer:
            return answer.status

    def _expect(self, status: int, expected: int) -> None:
        if status != expected:
            raise Unmeasurable(f"{self.kind}: answered {status} instead of {expected}")
