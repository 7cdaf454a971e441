"""Signed calls of several tables, operations and outcomes, and an account of every answer."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any, Self

import aiohttp

from tests.support.config import OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import Gateway, Reply

LIMITED_TOKEN = "limited-table-token"
APPS: list[dict[str, Any]] = [
    {
        "org": "acme",
        "app": "shop",
        "type": "api",
        "tables": [{"name": "sessions", "token": TABLE_TOKEN}, {"name": "carts", "token": OTHER_TABLE_TOKEN}],
    },
    {
        "org": "acme",
        "app": "blog",
        "env": "test",
        "type": "api",
        "requests_per_minute": 20,
        "tables": [{"name": "posts", "token": LIMITED_TOKEN}],
    },
]
TABLES = {
    TABLE_TOKEN: ("acme", "shop", "production", "sessions"),
    OTHER_TABLE_TOKEN: ("acme", "shop", "production", "carts"),
    LIMITED_TOKEN: ("acme", "blog", "test", "posts"),
}
CALLS = (
    ("put", TABLE_TOKEN, {"key": "a", "value": {"padding": "x" * 700}}),
    ("get", TABLE_TOKEN, {"key": "a"}),
    ("get", TABLE_TOKEN, {"key": "never written"}),
    ("put", OTHER_TABLE_TOKEN, {"key": "ключ", "value": [1, 2, 3], "ttlSeconds": 600}),
    ("put", OTHER_TABLE_TOKEN, {"key": "", "value": 1}),
    ("delete", OTHER_TABLE_TOKEN, {"key": "ключ"}),
    ("get", OTHER_TABLE_TOKEN, b'{"key": '),
    ("put", LIMITED_TOKEN, {"key": "post", "value": None}),
    ("delete", LIMITED_TOKEN, {"key": "post"}),
)
WORKERS = 6
PAUSE_SECONDS = 0.02

Place = Any
Bill = dict[tuple[str, ...], Counter[str]]
"""Columns by org, app, env, table and operation."""


@dataclass(frozen=True)
class Answer:
    place: Place
    table: tuple[str, ...]
    operation: str
    outcome: str
    request_bytes: int
    response_bytes: int
    at: float
    """Unix time at which it had come."""


def outcome_of(operation: str, reply: Reply) -> str:
    match reply.status, reply.json:
        case 200, {"found": False}:
            return "not_found"
        case 200, _:
            return "ok"
        case 400, _:
            return "invalid"
        case 429, _:
            return "rate_limited"
        case 503, {"error": "storage_unavailable" | "quota_unavailable"}:
            return "error"
    raise AssertionError((operation, reply))


def bill(answers: list[Answer]) -> Bill:
    """Expected usage of these answers."""
    rows: Bill = {}
    for answer in answers:
        row = rows.setdefault((*answer.table, answer.operation), Counter())
        row.update(("requests", answer.outcome))
        row["request_bytes"] += answer.request_bytes
        row["response_bytes"] += answer.response_bytes
    return rows


class Traffic:
    """Calls whatever gateways there are, by their places, while the block runs.

    `unanswered` are places of calls whose connection ended first. A caller that is refused goes elsewhere.
    """

    def __init__(self, gateways: Mapping[Place, Gateway]) -> None:
        self.answers: list[Answer] = []
        self.unanswered: list[Place] = []
        self._gateways = gateways
        self._tasks: list[asyncio.Task[None]] = []
        self._calls: set[asyncio.Task[None]] = set()
        """They go on to their end when the work is called off: what was sent may be counted."""

    async def until_answered(self, number: int, place: Place | None = None) -> None:
        """Waits for that many further answers, of one gateway if given."""
        wanted = self._answered(place) + number
        async with asyncio.timeout(30):
            while self._answered(place) < wanted:  # noqa: ASYNC110 - answers are counted without an event
                await asyncio.sleep(0.005)

    def _answered(self, place: Place | None) -> int:
        return sum(place in (None, answer.place) for answer in self.answers)

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._work(number)) for number in range(WORKERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, *self._calls, return_exceptions=True)
        faults = [
            fault for fault in ended if fault is not None and not isinstance(fault, asyncio.CancelledError)
        ]
        assert faults == []

    async def _work(self, number: int) -> None:
        calls = cycle([*CALLS[number:], *CALLS[:number]])
        for turn in count(number):
            await asyncio.sleep(PAUSE_SECONDS)
            places = list(self._gateways)
            if places:
                place = places[turn // 2 % len(places)]
                call = asyncio.create_task(self._call(place, self._gateways[place], *next(calls)))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
                await asyncio.shield(call)

    async def _call(self, place: Place, gateway: Gateway, operation: str, token: str, body: Any) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        try:
            reply = await gateway.call(operation, content, token=token)
        except aiohttp.ClientConnectorError:
            return
        except (aiohttp.ClientError, OSError):
            self.unanswered.append(place)
            return
        outcome, table = outcome_of(operation, reply), TABLES[token]
        sizes = len(content), len(reply.body)
        self.answers.append(Answer(place, table, operation, outcome, *sizes, time.time()))
