"""An open-loop generator: requests are due at a fixed rate, and latency counts from when each was due.

A server that stalls is charged for every request that should have been sent meanwhile.
"""

import asyncio
import sys
from collections import Counter, deque
from functools import partial
from time import perf_counter

import msgspec
import uvloop
from msgspec import Struct

from benchmarks.exchange import (
    PATIENCE_SECONDS,
    WARM_UP_SECONDS,
    Connection,
    Exchange,
    pass_until,
    read_exchanges,
)


class Latency(Struct, frozen=True):
    """Milliseconds from due to answered, one per request after the warm-up; all verdicts since the start."""

    milliseconds: list[float]
    verdicts: dict[str, int]


class _Caller(Connection):
    """Sends what is due as soon as what was due before is answered."""

    def __init__(self, latencies: list[float], verdicts: Counter[str]) -> None:
        super().__init__(verdicts)
        self._latencies = latencies
        self._due: deque[tuple[float, Exchange]] = deque()

    def offer(self, due: float, exchange: Exchange) -> None:
        self._due.append((due, exchange))
        if len(self._due) == 1:
            self.send(exchange)

    def answered(self) -> None:
        due, _ = self._due.popleft()
        self._latencies.append(perf_counter() - due)
        if self._due:
            self.send(self._due[0][1])


async def _run(port: int, connections: int, seconds: float, per_second: float) -> Latency:
    exchanges = read_exchanges()
    latencies: list[float] = []
    verdicts = Counter[str]()
    loop = asyncio.get_running_loop()
    opening = partial(_Caller, latencies, verdicts)
    callers = [(await loop.create_connection(opening, "127.0.0.1", port))[1] for _ in range(connections)]
    started, total = perf_counter(), int(per_second * (WARM_UP_SECONDS + seconds))
    for number in range(total):
        due = started + number / per_second
        await pass_until(due)
        callers[number % connections].offer(due, exchanges[number % len(exchanges)])
    given_up = perf_counter() + PATIENCE_SECONDS
    while len(latencies) < total and perf_counter() < given_up:
        await asyncio.sleep(0)
    if missing := total - len(latencies):
        verdicts["not answered"] = missing
    measured = latencies[int(per_second * WARM_UP_SECONDS) :]
    return Latency([seconds * 1000 for seconds in measured], dict(verdicts))


if __name__ == "__main__":
    latency = uvloop.run(_run(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])))
    print(msgspec.json.encode(latency).decode())
