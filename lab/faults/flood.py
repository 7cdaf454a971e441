"""Signed calls on many connections as fast as they are answered; each call is signed once and sent often."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.config import TABLE_TOKEN
from tests.support.evidence import note_statuses
from tests.support.gateway import Gateway
from tests.support.load import Line
from tests.support.wire import WireReply, signed_call


@dataclass
class Flood:
    """Responses: statuses, codes of those that were not 200, every Retry-After, and durations."""

    statuses: Counter[int] = field(default_factory=Counter)
    codes: Counter[str | None] = field(default_factory=Counter)
    retry_after: set[int] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)

    def add(self, reply: WireReply, seconds: float) -> None:
        self.statuses[reply.status] += 1
        self.seconds.append(seconds)
        if reply.status != 200:
            self.codes[reply.error] += 1
        if "retry-after" in reply.headers:
            self.retry_after.add(int(reply.headers["retry-after"]))


def calls_of(gateway: Gateway, tokens: Sequence[str] = (TABLE_TOKEN,)) -> list[bytes]:
    """A put, a get and a delete of each table."""
    bodies: dict[str, Any] = {"put": {"key": "k", "value": 1}, "get": {"key": "k"}, "delete": {"key": "k"}}
    return [
        signed_call(gateway, operation, json.dumps(body).encode(), extra=(), token=token)
        for token in tokens
        for operation, body in bodies.items()
    ]


async def flood(
    gateways: Sequence[Gateway],
    attempts: int,
    *,
    tokens: Sequence[str] = (TABLE_TOKEN,),
    connections: int = 40,
) -> Flood:
    """So many attempts, over all gateways, tables and operations in turn."""
    result = Flood()
    turns = iter(range(attempts))
    prepared = [calls_of(gateway, tokens) for gateway in gateways]
    began = time.monotonic()

    async def use(number: int) -> None:
        which = number % len(gateways)
        async with Line(gateways[which]) as line:
            for turn in turns:
                started = time.monotonic()
                reply = await line.ask(prepared[which][turn % len(prepared[which])])
                result.add(reply, time.monotonic() - started)

    await asyncio.gather(*(use(number) for number in range(connections)))
    note_statuses(
        result.statuses,
        load_seconds=time.monotonic() - began,
        slowest_seconds=max(result.seconds, default=0.0),
    )
    return result
