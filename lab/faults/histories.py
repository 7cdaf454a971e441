"""Clients that share a few keys, and write down what they asked for, when, and what came of it."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

from lab.simulation.drawing import Draw
from lab.simulation.requests import COUNTERS, Request, Table, body_of, condition_fields
from lab.simulation.witness import Witness
from tests.support.evidence import note_statuses
from tests.support.gateway import Gateway
from tests.support.load import Line
from tests.support.wire import WireReply, signed_call

TABLE = Table("shop", "sessions")
"""The table of the base configuration, as requests name it."""

ANSWER_SECONDS = 5.0


class Clients:
    """Each takes any replica and any key for each operation. `gateways` may change while they run."""

    def __init__(
        self, gateways: Sequence[Gateway], *, seed: int, clients: int = 8, keys: int = 24, per_second: float
    ) -> None:
        self.statuses: Counter[int] = Counter()
        self._gateways = gateways
        self._wrong: list[str] = []
        self._witness = Witness(self._wrong.append)
        self._keys = [f"key {number}" for number in range(keys)]
        self._numbers = partial(next, count(1))
        self._dice = [random.Random(f"{seed} {client}") for client in range(clients)]
        self._pause = clients / per_second
        self._slowest = 0.0

    @property
    def served(self) -> int:
        """The number of calls that were answered, and not with a failure."""
        return self.statuses[200] + self.statuses[412]

    async def run(self, operations: int) -> None:
        """Until so many were answered or given up."""
        began = time.monotonic()
        turns = iter(range(operations))
        await asyncio.gather(*(self._use(dice, turns) for dice in self._dice))
        note_statuses(self.statuses, load_seconds=time.monotonic() - began, slowest_seconds=self._slowest)

    def violations(self) -> list[str]:
        """Judges all histories, and returns what is wrong with them and with single answers."""
        self._witness.judge()
        note_statuses(Counter(), wrong=len(self._wrong))
        return self._wrong

    async def _use(self, dice: random.Random, turns: Any) -> None:
        lines: dict[Gateway, Line] = {}
        draw = Draw(dice, self._witness, self._numbers, (TABLE,), self._keys)
        try:
            for _ in turns:
                due = time.monotonic() + self._pause
                gateway = dice.choice(self._gateways)
                try:
                    if gateway not in lines:
                        lines[gateway] = await Line(gateway).__aenter__()
                    await self._one(lines[gateway], dice, draw)
                    is_over = lines[gateway].closes
                except (OSError, EOFError, TimeoutError):
                    is_over = True
                if is_over and gateway in lines:
                    await lines.pop(gateway).__aexit__()
                await asyncio.sleep(max(due - time.monotonic(), 0))
        finally:
            for line in lines.values():
                await line.__aexit__()

    async def _one(self, line: Line, dice: random.Random, draw: Draw) -> None:
        if dice.random() < 0.03:
            await self._list(line)
        else:
            await self._call(line, draw.request())

    async def _list(self, line: Line) -> None:
        """Lists the table, in one page, and writes down what it shows of each key."""
        invoked = time.monotonic()
        reply = await self._call(line, Request("list", TABLE, limit=1000))
        if reply.status == 200:
            listed = {entry["key"]: entry["value"] for entry in reply.json["entries"]}
            for key in (*self._keys, *COUNTERS):
                self._witness.listed(TABLE, key, listed.get(key), invoked, time.monotonic())

    async def _call(self, line: Line, request: Request) -> WireReply:
        fields = condition_fields(request)
        call = signed_call(line.gateway, request.operation, body_of(request), extra=fields)
        invoked = time.monotonic()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reply = await line.ask(call)
        except BaseException:
            self.statuses[0] += 1
            self._witness.took_nothing(request, invoked)
            raise
        finally:
            returned = time.monotonic()
            self._slowest = max(self._slowest, returned - invoked)
        self.statuses[reply.status] += 1
        assert reply.status in (200, 412, 503), reply
        self._witness.took(request, reply, invoked, returned)
        return reply
