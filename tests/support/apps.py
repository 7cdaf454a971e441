"""Managed apps in any number: written into a store as the control plane does, called, and changed."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from backends.dynamodb.items import record_key
from backends.interface import RecordStore
from gateway.directory.records import AppRecord, TableRecord, TokenRecord, app_name, encode, token_name
from gateway.directory.tokens import new_token, sha256_of
from gateway.domain.model import Environment
from tests.support.dynamodb.observer import Observer
from tests.support.gateway import Gateway
from tests.support.scraping import eventually
from tests.support.stopwatch import HeldUp

_AT_ONCE = 256
_BATCH = 25
IN_FORCE_SECONDS = 2.0
"""After a change was answered, on every replica, while the store is up."""


@dataclass(frozen=True)
class ManagedApp:
    """An app with one table, `t`."""

    environment: Environment
    token: str = field(default_factory=new_token)

    @property
    def path(self) -> str:
        return f"/v1/orgs/{self.environment.org}/apps/{self.environment.app}"

    def records(self) -> list[tuple[str, bytes]]:
        """Names and documents, in the order in which they are written."""
        sha256 = sha256_of(self.token)
        table = TableRecord(f"tbl_{sha256[:32]}", "t", sha256, token_last_four=self.token[-4:])
        app = AppRecord(self.environment, "api", active=True, tables=(table,))
        return [
            (token_name(sha256), encode(TokenRecord(self.environment))),
            (app_name(self.environment), encode(app)),
        ]


def managed_apps(count: int) -> list[ManagedApp]:
    """Ten to an organization."""
    return [ManagedApp(Environment(f"org{n // 10}", f"app{n}", "production")) for n in range(count)]


async def write_apps(records: RecordStore, apps: Sequence[ManagedApp]) -> None:
    """Through the port, many at once."""
    for start in range(0, len(apps), _AT_ONCE):
        await asyncio.gather(*(_write(records, app) for app in apps[start : start + _AT_ONCE]))


def write_apps_into_dynamodb(observer: Observer, table: str, apps: Sequence[ManagedApp]) -> None:
    """The same items, in batches: an engine takes as long for each request, whatever is in it."""
    records = [record for app in apps for record in app.records()]
    for start in range(0, len(records), _BATCH):
        puts = [
            {"PutRequest": {"Item": {**record_key(name), "d": {"B": document}, "r": {"S": uuid4().hex}}}}
            for name, document in records[start : start + _BATCH]
        ]
        written = observer.client.batch_write_item(RequestItems={table: puts})
        assert not written["UnprocessedItems"]


async def _write(records: RecordStore, app: ManagedApp) -> None:
    for name, document in app.records():
        assert await records.swap(name, document, None)


CHANGES = {
    "token revoked": ("POST", "/services/kvs/tables/t/rotate", None, 401),
    "table deleted": ("DELETE", "/services/kvs/tables/t", None, 401),
    "app suspended": ("POST", "/suspend", None, 403),
    "limit lowered": ("PUT", "", {"type": "api", "requests_per_minute": 1}, 429),
}
"""Method, path behind the app's, body; and the status of the next call but one."""


_AT_ONCE = 4
"""Simultaneous changes: a slow store delays the changes, instead of a queue in which calls time out."""


async def change_in_turn(
    here: Gateway, there: Gateway, apps: Sequence[ManagedApp], *, per_second: float
) -> list[str]:
    """Change each app `here` while `there` serves it; the changes that were not in force there in time.

    Where the store was so slow that the feed of `there` has had fewer than two answers since a change, of
    which one may be to a question from before it, the change has until the second.
    """
    feed, room = _Feed(there), asyncio.Semaphore(_AT_ONCE)
    async with HeldUp() as held_up:
        changing = []
        for app, kind in zip(apps, itertools.cycle(CHANGES), strict=False):
            changing.append(asyncio.create_task(_change(here, feed, app, kind, held_up, room=room)))
            await asyncio.sleep(1 / per_second)
        return [late for late in await asyncio.gather(*changing) if late is not None]


async def _change(
    here: Gateway, feed: "_Feed", app: ManagedApp, kind: str, held_up: HeldUp, *, room: asyncio.Semaphore
) -> str | None:
    there = feed.gateway
    method, path, body, refused = CHANGES[kind]
    async with room:
        known = await there.get("k", token=app.token)
        assert known.status == 200, known.body
        changed = await here.manage(method, app.path + path, body)
        assert changed.status in (200, 204), changed.body
    held_before, answers_before = held_up.total, await feed.answers()
    await asyncio.sleep(IN_FORCE_SECONDS)
    await asyncio.sleep(held_up.total - held_before)

    async def was_answered_twice() -> bool:
        await asyncio.sleep(0.1)
        return await feed.answers() >= answers_before + 2

    await eventually(was_answered_twice)
    status = (await there.get("k", token=app.token)).status
    return None if status == refused else f"{kind}: {status}"


class _Feed:
    """Returns the number of answered polls of a gateway's feed; simultaneous callers share a scrape."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._turn = asyncio.Lock()
        self._scrapes = 0
        self._answers = 0.0

    async def answers(self) -> float:
        """Returns the figure of a scrape that begins after the call."""
        begun = self._scrapes
        async with self._turn:
            if begun == self._scrapes:
                self._scrapes += 1
                self._answers = sum(
                    value
                    for series, value in (await self.gateway.metrics()).items()
                    if series.startswith("kvs_store_duration_seconds_count{")
                    and 'operation="changes",outcome="ok"' in series
                )
        return self._answers


@asynccontextmanager
async def calls_in_turn(
    gateways: Sequence[Gateway], apps: Sequence[ManagedApp], *, per_second: float, callers: int = 8
) -> AsyncIterator[list[int]]:
    """Calls of many apps through all gateways while the block runs; the statuses of the answers."""
    statuses: list[int] = []
    turns = itertools.cycle(apps)
    pause = callers / per_second

    async def call(gateway: Gateway) -> None:
        while True:
            began = time.monotonic()
            statuses.append((await gateway.get("k", token=next(turns).token)).status)
            await asyncio.sleep(max(pause - (time.monotonic() - began), 0))

    tasks = [asyncio.create_task(call(gateways[number % len(gateways)])) for number in range(callers)]
    try:
        yield statuses
    finally:
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes), outcomes
