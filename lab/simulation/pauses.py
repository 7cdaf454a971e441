"""Replicas that are stopped at any point for any time, and clients that give up and repeat elsewhere.

From the bytes of a request to the bytes of a command all is the gateway's own: connection, fence, pipeline,
and the connection to Redis. Each replica is a machine of its own (`lab.simulation.stepped`).

The promise: once a newer change is acknowledged, an older one is not applied if its client gave it up
`LATEST_SECONDS` ago.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BytesIO
from unittest.mock import patch

import yaml

from backends.redis.backend import RedisBackend
from backends.redis.settings import RedisSettings
from backends.redis.wire import connection as redis_connection
from gateway.app import build_app
from gateway.config.loading import parse
from gateway.http import connection as http_connection
from gateway.http import fence
from gateway.http.connection import Connection
from lab.simulation.impatient import Client
from lab.simulation.kernels import LATENCY_SECONDS, MachineEnd
from lab.simulation.requests import STARTED_AT_MS
from lab.simulation.stepped import Machine, World
from lab.simulation.store import SimulatedClock
from tests.support.config import BASE, merged
from tests.support.redis.resp import read

RUNNING_SECONDS = 30.0
LATEST_SECONDS = 0.5
CLIENTS = 3
_VALUE_AT = 31
"""Length of what the gateway stores before a value."""

_CHARGE = b"\r\n:60000\r\n:1000\r\n"
_PUT = b"*3" + _CHARGE + b"$1\r\nW\r\n"
_PUT_AND_LOOKED = b"*4" + _CHARGE + b"*1\r\n$1\r\nW\r\n*0\r\n"

SETTINGS = parse(yaml.safe_dump(merged(BASE, {"rate_limit": {"requests_per_minute": 1_000_000}})), {})


class Replica:
    """A gateway on a machine."""

    def __init__(self, region: "Pauses", dice: random.Random) -> None:
        self.machine = Machine(region.world, dice)
        self.machine.loop.connect = partial(region.connect_to_redis, self.machine)
        self._clock = SimulatedClock(self.machine.loop, STARTED_AT_MS)

    def start(self) -> None:
        self.machine.run(self._start())

    def accept(self, on_sent: Callable[[bytes | None], None]) -> MachineEnd:
        """Takes a connection of a client into the backlog."""
        return MachineEnd(self.machine, lambda: Connection(self._app.data.service), on_sent)

    def end(self) -> None:
        self.machine.run(self._end())
        self.machine.close()

    async def _start(self) -> None:
        async def open_store(*_: object) -> RedisBackend:
            return RedisBackend(RedisSettings(url="redis://10.0.0.2:6379/0"), self._clock)

        self._app = await build_app(SETTINGS, self._clock, open_store)
        beating, *_ = self._app.replica._background
        self._background = beating()

    async def _end(self) -> None:
        await self._background.close()
        for backend in self._app.stores.backends:
            await backend.close()


class Pauses:
    """Everything of one simulation."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.world = World()
        self.faults: list[str] = []
        self.happened: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unanswered = 0

    async def run(self) -> None:
        with self._kernels():
            self.replicas = [Replica(self, random.Random(self.dice.random())) for _ in range(2)]
            for replica in self.replicas:
                replica.start()
            self._clients = [Client(self, number) for number in range(CLIENTS)]
            self.world.run(RUNNING_SECONDS)
            for replica in self.replicas:
                replica.end()
                self.faults += [str(each) for each in replica.machine.complaints]

    def connect_to_redis(self, machine: Machine, protocol: redis_connection.Connection) -> MachineEnd:
        """Opens a connection to a server that applies commands in the order in which they arrive."""

        def serve(data: bytes) -> None:
            replies = b"".join(self._replies(data))
            self.world.after(
                self.dice.choice((LATENCY_SECONDS, LATENCY_SECONDS, 0.1)), lambda: end.arrive(replies)
            )

        def on_sent(data: bytes | None) -> None:
            if data is not None:
                self.world.after(LATENCY_SECONDS, lambda: serve(data))

        end = MachineEnd(machine, lambda: protocol, on_sent)
        end.open()
        return end

    def _replies(self, data: bytes) -> Iterator[bytes]:
        stream = BytesIO(data)
        while stream.tell() < len(data):
            name, *words = read(stream)
            if name == b"EVALSHA":  # a step whose last word is the entry that it puts
                self._judge(*json.loads(words[-1][_VALUE_AT:]))
                looks_for_expired = words[-4] == b"P"
                yield _PUT_AND_LOOKED if looks_for_expired else _PUT
            else:
                yield b"+PONG\r\n" if name == b"PING" else b"+OK\r\n"

    def _judge(self, client: int, number: int, attempt: int) -> None:
        """Judges a write that is applied now."""
        who = self._clients[client]
        late_seconds = self.world.now - who.gave_up_at.get(attempt, float("inf"))
        if who.acknowledged > number and late_seconds > LATEST_SECONDS:
            self.faults.append(
                f"at {self.world.now:.3f} s: change {number} of client {client} was applied after change "
                f"{who.acknowledged} was acknowledged, {late_seconds:.3f} s after its client gave up"
            )

    @contextmanager
    def _kernels(self) -> Iterator[None]:
        """Lets the gateway ask the machines' kernels and clocks."""
        with ExitStack() as opened:
            for module, name, answer in (
                (http_connection, "has_left", lambda end: end.has_left),
                (http_connection, "unread_bytes", lambda end: end.unread_bytes),
                (fence, "unread_bytes", lambda end: end.unread_bytes),
                (fence, "_silent_seconds", lambda end: end.silent_seconds),
                (redis_connection, "boot_seconds", lambda: self.world.now),
            ):
                opened.enter_context(patch.object(module, name, answer))
            yield
