"""The simulated region: one store, several replicas, clients, and mischief, all drawn from one seed."""

import asyncio
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import count
from typing import Any

import yaml

from gateway.config.loading import parse
from gateway.config.settings import Settings
from lab.simulation.client import Client
from lab.simulation.clockless import APART_MS, WINDOW_MS, ClocklessBackend, Items
from lab.simulation.drawing import KEYS
from lab.simulation.mischief import Mischief
from lab.simulation.network import Network
from lab.simulation.replica import SimulatedReplica
from lab.simulation.requests import COUNTERS, STARTED_AT_MS, TABLES, Request
from lab.simulation.store import SimulatedClock, Store
from lab.simulation.witness import UNCHARGED, Witness
from tests.support.config import BASE, merged
from tests.support.wire import WireReply

LIMIT = 30
LIMITED_HOME, MAX_BYTES = "acme/blog/production", 80
"""An app environment with a storage limit, which three entries and two counters do not fit into."""
PASSED = {"invalid_json", "precondition_failed", "storage_limit_reached"}
"""Codes of charged calls that came through, beside those of answers."""
UNAVAILABLE = {"quota_unavailable", "storage_unavailable", "overloaded", "shutting_down"}
CLIENTS = 4
CALLING_SECONDS = 80.0
LATEST_SECONDS = 4.0
"""Time until which abandoned calls may arrive at the store."""


def _settings() -> Settings:
    apps: dict[str, list[dict[str, str]]] = defaultdict(list)
    for table in TABLES:
        apps[table.environment].append({"name": table.name, "token": table.token})
    declared: list[dict[str, Any]] = [
        {"org": "acme", "app": app, "type": "api", "tables": tables} for app, tables in apps.items()
    ]
    for app in declared:
        if app["app"] in LIMITED_HOME:
            app["max_bytes"] = MAX_BYTES
    changes = {
        "apps": declared,
        "rate_limit": {"requests_per_minute": LIMIT},
        "shutdown": {"drain_seconds": 1, "grace_seconds": 3},
    }
    return parse(yaml.safe_dump(merged(BASE, changes)), {})


SETTINGS = _settings()


@dataclass(frozen=True)
class Passed:
    """An answer to a charged and admitted call."""

    environment: str
    sent: float
    answered: float
    cost: int


class Region:
    """One simulation. `faults` lists the violations found, `happened` counts the mischief."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self._loop = asyncio.get_running_loop()
        self.store = Store(SimulatedClock(self._loop, STARTED_AT_MS), {LIMITED_HOME: MAX_BYTES})
        self._items = Items(self.store) if seed % 2 else None
        """The counters of every second seed."""
        self.replicas: list[SimulatedReplica] = []
        self.ended: list[SimulatedReplica] = []
        self.faults: list[str] = []
        self.happened: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unanswered = 0
        self.trace: list[tuple[float, str, int]] = []
        self._passed: list[Passed] = []
        self.witness = Witness(self.wrong)
        self._numbers = count(1)

    async def run(self) -> None:
        for _ in range(self.dice.choice((2, 2, 3))):
            await self.start_replica()
        clients = [Client(self, random.Random(self.dice.random())) for _ in range(CLIENTS)]
        mischief = Mischief(self, random.Random(self.dice.random()))
        making = asyncio.ensure_future(mischief.run(until=CALLING_SECONDS - 5))
        await asyncio.gather(*(client.run(until=CALLING_SECONDS) for client in clients))
        await making
        await asyncio.sleep(self._seconds_until_windows_close())
        await self._read_everything()
        await asyncio.gather(*map(self.retire, list(self.replicas)))
        self._judge()

    async def start_replica(self) -> None:
        up_for_ms = self.dice.randrange(10**9)
        clock = SimulatedClock(self._loop, STARTED_AT_MS, self.dice.randint(-20_000, 20_000), up_for_ms)
        network = Network(self.store, random.Random(self.dice.random()))
        backend = None if self._items is None else ClocklessBackend(network, self._items, clock)
        self.replicas.append(await SimulatedReplica.start(SETTINGS, clock, network, backend))

    async def retire(self, replica: SimulatedReplica) -> None:
        """Drains a replica; clients may still use their open connections until it has ended."""
        await replica.drain()
        self.replicas.remove(replica)
        self.ended.append(replica)

    def next_number(self) -> int:
        return next(self._numbers)

    def wrong(self, fault: str) -> None:
        self.faults.append(f"at {self._loop.time():.3f} s: {fault}")

    def answered(self, replica: SimulatedReplica, request: Request, reply: WireReply, sent: float) -> None:
        """Judges one answer when it arrives."""
        now, code = self._loop.time(), reply.error
        self.statuses[reply.status] += 1
        self.trace.append((now, f"{request.operation} {request.key} {code}", reply.status))
        if code == "shutting_down":
            replica.uncertain += request.cost
        elif code not in UNCHARGED:
            replica.charged += request.cost
        if reply.status == 200 or code in PASSED:
            self._passed.append(Passed(request.table.environment, sent, now, request.cost))
        if code == "storage_limit_reached":
            self._judge_no_room(request, sent, now)
        elif reply.status == 200:
            self._judge_success(request, reply)
        elif reply.status == 429:
            self._judge_refusal(request, reply, sent, now)
        elif reply.status == 503:
            self._expect(code in UNAVAILABLE, f"{code} to {request}")
        elif reply.status == 412:
            self._expect(request.condition is not None, f"{request} has no condition")
        else:
            self._expect(request.flaw is not None, f"{reply.status} {code} to {request}")

    def _judge_success(self, request: Request, reply: WireReply) -> None:
        self._expect(request.flaw is None, f"{request} was carried out")
        if request.operation == "put":
            self._expect(request.value in self.store.stored, f"{request} is not in the store")
        elif request.operation == "get" and request.key in KEYS and reply.json.get("found"):
            owner = reply.json["value"][:3]
            expected = [request.table.environment, request.table.name, request.key]
            self._expect(owner == expected, f"{request} was given what belongs to {owner}")

    def _judge_no_room(self, request: Request, sent: float, now: float) -> None:
        refused = any(
            f"/{request.table.environment}/" in home
            and key == request.key
            and sent * 1000 <= at_ms + 1
            and at_ms <= now * 1000
            for home, key, at_ms in self.store.refused
        )
        self._expect(refused, f"{request} was refused though there was room")

    def _judge_refusal(self, request: Request, reply: WireReply, sent: float, now: float) -> None:
        full = [
            window
            for window in self.store.windows
            if f"/{request.table.environment}/" in window.bucket
            and (full_ms := window.full_ms(LIMIT, request.cost)) is not None
            and full_ms <= now * 1000
            and window.closes_ms >= sent * 1000 - 1
        ]
        self._expect(full != [], f"{request} was refused though its window had room")
        self._expect(1 <= int(reply.headers["retry-after"]) <= 60, f"Retry-After of {request}")

    def _seconds_until_windows_close(self) -> float:
        close = max((window.closes_ms for window in self.store.windows), default=0)
        return max(close / 1000 - self._loop.time(), 0) + LATEST_SECONDS

    async def _read_everything(self) -> None:
        client = Client(self, self.dice)
        for table in TABLES:
            for key in (*KEYS, *COUNTERS):
                await client.exchange([Request("get", table, key)])
            await client.list_all(table, 100)
        client.hang_up()

    def _judge(self) -> None:
        for replica in self.ended:
            most = replica.charged + replica.uncertain
            fits = replica.charged <= replica.metered <= most
            self._expect(fits, f"{replica.metered} metered, {replica.charged} to {most} answered")
        for window in self.store.windows:
            inside = sum(
                each.cost
                for each in self._passed
                if f"/{each.environment}/" in window.bucket
                and each.sent * 1000 >= window.opened_ms
                and each.answered * 1000 < window.closes_ms - window.closes_early_by_ms
            )
            most = max(inside, window.admitted)
            self._expect(most <= LIMIT, f"{most} passed in one window of {window.bucket}")
            after_ms = window.follows_after_ms
            is_late = after_ms is None or after_ms >= WINDOW_MS - APART_MS
            self._expect(is_late, f"a window of {window.bucket} opened {after_ms} ms after the one before")
        self.witness.judge()
        self.faults += self.store.faults

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong(otherwise)
