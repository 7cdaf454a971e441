"""Clients that share a few keys, and write down what they asked for, when, and what came of it."""

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any

from lab.faults.linearizability import MISSING, NEVER, Operation, Read, Write, first_violation
from tests.support.evidence import note_statuses
from tests.support.gateway import Gateway
from tests.support.load import Line
from tests.support.wire import WireReply, signed_call

NOT_CARRIED_OUT = {"quota_unavailable", "auth_unavailable", "overloaded", "rate_limited"}
"""Refusals that come before the store is asked."""

ANSWER_SECONDS = 5.0


class Clients:
    """Each takes any replica and any key for each operation. `gateways` may change while they run."""

    def __init__(
        self, gateways: Sequence[Gateway], *, seed: int, clients: int = 8, keys: int = 24, per_second: float
    ) -> None:
        self.statuses: Counter[int] = Counter()
        self._gateways = gateways
        self._histories: dict[str, list[Operation]] = defaultdict(list)
        self._keys = [f"key {number}" for number in range(keys)]
        self._values = count(1)
        self._dice = [random.Random(f"{seed} {client}") for client in range(clients)]
        self._pause = clients / per_second
        self._slowest = 0.0

    async def run(self, operations: int) -> None:
        """Until so many were answered or given up."""
        began = time.monotonic()
        turns = iter(range(operations))
        await asyncio.gather(*(self._use(dice, turns) for dice in self._dice))
        note_statuses(self.statuses, load_seconds=time.monotonic() - began, slowest_seconds=self._slowest)

    def violations(self) -> dict[str, Operation]:
        """Keys whose history no order explains, with the operation that does not fit."""
        judged = {key: first_violation(history) for key, history in self._histories.items()}
        found = {key: operation for key, operation in judged.items() if operation is not None}
        note_statuses(Counter(), wrong=len(found))
        return found

    async def _use(self, dice: random.Random, turns: Any) -> None:
        lines: dict[Gateway, Line] = {}
        try:
            for _ in turns:
                due = time.monotonic() + self._pause
                gateway = dice.choice(self._gateways)
                try:
                    if gateway not in lines:
                        lines[gateway] = await Line(gateway).__aenter__()
                    await self._one(lines[gateway], dice)
                    is_over = lines[gateway].closes
                except (OSError, EOFError, TimeoutError):
                    is_over = True
                if is_over and gateway in lines:
                    await lines.pop(gateway).__aexit__()
                await asyncio.sleep(max(due - time.monotonic(), 0))
        finally:
            for line in lines.values():
                await line.__aexit__()

    async def _one(self, line: Line, dice: random.Random) -> None:
        operation = dice.choices(["put", "get", "delete"], [5, 8, 1])[0]
        body: dict[str, Any] = {"key": dice.choice(self._keys)}
        if operation == "put":
            body["value"] = next(self._values)
        request = signed_call(line.gateway, operation, json.dumps(body).encode(), extra=())
        invoked = time.monotonic()
        reply = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reply = await line.ask(request)
        finally:
            returned = time.monotonic()
            self._slowest = max(self._slowest, returned - invoked)
            self._write_down(operation, body, reply, invoked, returned)

    def _write_down(
        self, operation: str, body: dict[str, Any], reply: WireReply | None, invoked: float, returned: float
    ) -> None:
        history = self._histories[body["key"]]
        status = 0 if reply is None else reply.status
        self.statuses[status] += 1
        assert status in (0, 200, 503), reply
        if operation != "get":
            if status == 200 or reply is None or reply.error not in NOT_CARRIED_OUT:
                is_known = status == 200
                history.append(Write(body.get("value", MISSING), invoked, returned if is_known else NEVER))
        elif reply is not None and status == 200:
            history.append(Read(reply.json.get("value", MISSING), invoked, returned))
