"""Load on gateways that keeps account: what was answered, how late, and whether it was true."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

import aiohttp

from backends.clock import SystemClock
from tests.support.config import TABLE_TOKEN
from tests.support.evidence import note_statuses
from tests.support.gateway import Gateway, Reply
from tests.support.process import GatewayProcess
from tests.support.stopwatch import HeldUp
from tests.support.wire import read_reply, signed_call

MISSING = 0
PADDINGS = (0, 100, 1_000, 5_000, 20_000, 60_000)


@asynccontextmanager
async def client_of(process: GatewayProcess) -> AsyncIterator[Gateway]:
    """A gateway in a process of its own, as a client and an operator see it."""
    async with aiohttp.ClientSession(auto_decompress=False) as http:
        yield Gateway(None, process, SystemClock(), None, http)


@dataclass(frozen=True)
class Answer:
    """Outcome of one call; status 0 if the connection ended without an answer."""

    operation: str
    status: int
    code: str | None
    retry_after: str | None
    sent_at: float
    seconds: float

    @property
    def came_at(self) -> float:
        return self.sent_at + self.seconds


@dataclass
class _Register:
    """One key, used by one client alone: which of its writes may be what is stored."""

    key: str
    possible: set[int] = field(default_factory=lambda: {MISSING})
    numbers: Iterator[int] = field(default_factory=lambda: count(1))


class Load:
    """Clients that put and get on connections of their own while the block runs, at a steady rate.

    Each client has keys of its own, so that it knows what a get may find: what was acknowledged last, or
    what was given up after that. Everything else is a lie.
    """

    def __init__(
        self,
        gateways: Sequence[Gateway],
        *,
        token: str = TABLE_TOKEN,
        clients: int = 16,
        per_second: int = 400,
    ) -> None:
        self.answers: list[Answer] = []
        self.lies: list[str] = []
        self._gateways = gateways
        self._token = token
        self._pause = clients / per_second
        self._clients = range(clients)
        self._registers = {
            client: [_Register(f"client {client} key {number}") for number in range(len(PADDINGS))]
            for client in self._clients
        }
        self._tasks: list[asyncio.Task[None]] = []
        self._held_up = HeldUp()

    @property
    def held_up(self) -> float:
        """The longest, within a moment, that this process and those it started were kept from work."""
        return self._held_up.longest

    def since(self, moment: float) -> list[Answer]:
        """Answers to what was sent from then on (monotonic)."""
        return [answer for answer in self.answers if answer.sent_at >= moment]

    async def check_all(self) -> None:
        """Read every key once more; the service must be up."""
        for client in self._clients:
            async with Line(self._gateways[0]) as line:
                for register in self._registers[client]:
                    answer = await self._get(line, register)
                    assert answer.status == 200, answer

    async def __aenter__(self) -> Self:
        self._began = time.monotonic()
        self._tasks = [asyncio.create_task(self._run(client)) for client in self._clients]
        await self._held_up.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._held_up.__aexit__()
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        faults = [fault for fault in ended if not isinstance(fault, asyncio.CancelledError)]
        self._note()
        assert faults == []

    def _note(self) -> None:
        note_statuses(
            Counter(answer.status for answer in self.answers),
            wrong=len(self.lies),
            load_seconds=time.monotonic() - self._began,
            slowest_seconds=max((answer.seconds for answer in self.answers), default=0.0),
        )

    async def _run(self, client: int) -> None:
        await asyncio.sleep(self._pause * client / len(self._clients))
        for turn in count(client):
            gateway = self._gateways[turn % len(self._gateways)]
            try:
                async with Line(gateway) as line:
                    await self._use(line, self._registers[client])
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(self._pause)

    async def _use(self, line: "Line", registers: list[_Register]) -> None:
        for turn in count():
            if line.closes:
                return
            register = registers[turn // 2 % len(registers)]
            started = time.monotonic()
            padding = PADDINGS[turn // 2 % len(PADDINGS)]
            await (self._get(line, register) if turn % 2 else self._put(line, register, padding))
            await asyncio.sleep(max(self._pause - (time.monotonic() - started), 0))

    async def _put(self, line: "Line", register: _Register, padding: int) -> None:
        number = next(register.numbers)
        register.possible.add(number)
        value = {"key": register.key, "number": number, "padding": "x" * padding}
        answer, _ = await self._call(line, "put", {"key": register.key, "value": value})
        if answer.status == 200:
            register.possible = {number}

    async def _get(self, line: "Line", register: _Register) -> Answer:
        answer, found = await self._call(line, "get", {"key": register.key})
        if answer.status == 200:
            value = found["value"] if found["found"] else {"key": register.key, "number": MISSING}
            if value["key"] != register.key or value["number"] not in register.possible:
                wrong = f"{value['key']} number {value['number']}"
                self.lies.append(f"{register.key} has {wrong}, not one of {register.possible}")
        return answer

    async def _call(self, line: "Line", operation: str, body: dict[str, Any]) -> tuple[Answer, Any]:
        request = signed_call(line.gateway, operation, json.dumps(body).encode(), extra=(), token=self._token)
        sent_at = time.monotonic()
        try:
            reply = await line.ask(request)
        except (OSError, asyncio.IncompleteReadError):
            self.answers.append(Answer(operation, 0, None, None, sent_at, time.monotonic() - sent_at))
            raise
        seconds = time.monotonic() - sent_at
        retry_after = reply.headers.get("retry-after")
        answer = Answer(operation, reply.status, reply.json.get("error"), retry_after, sent_at, seconds)
        self.answers.append(answer)
        return answer, reply.json


class Line:
    """One kept connection."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.closes = False
        """Whether the last answer has said so."""

    async def ask(self, request: bytes) -> Reply:
        self._writer.write(request)
        reply = await read_reply(self._reader)
        self.closes = reply.closes
        return reply

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await self.gateway.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()
