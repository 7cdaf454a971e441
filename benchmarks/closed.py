"""A closed-loop generator: each connection sends its next request when the last is answered."""

import asyncio
import sys
from collections import Counter
from functools import partial
from itertools import cycle
from time import perf_counter

import msgspec
import uvloop
from msgspec import Struct

from benchmarks.exchange import (
    GOOD,
    PATIENCE_SECONDS,
    WARM_UP_SECONDS,
    Connection,
    Exchange,
    pass_until,
    read_exchanges,
)

_LOOK_SECONDS = 0.05


class Throughput(Struct, frozen=True):
    """Good answers per second after the warm-up, and all verdicts since the start."""

    per_second: float
    verdicts: dict[str, int]


class _Caller(Connection):
    """Sends its share of the exchanges round and round, until it is stopped."""

    def __init__(self, exchanges: list[Exchange], verdicts: Counter[str]) -> None:
        super().__init__(verdicts)
        self._exchanges = cycle(exchanges)
        self._left = len(exchanges)
        self._is_stopping = False
        self._stopped = asyncio.Event()

    @property
    def is_round(self) -> bool:
        """Whether its whole share was sent."""
        return self._left <= 0

    async def stop(self) -> None:
        """Leaves no request behind: webdis answers the client that gets the socket's number next."""
        self._is_stopping = True
        await self._stopped.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.answered()

    def answered(self) -> None:
        if self._is_stopping:
            self._stopped.set()
        else:
            self._left -= 1
            self.send(next(self._exchanges))


async def _run(port: int, connections: int, seconds: float) -> Throughput:
    """For so long, and until each exchange was sent once if that takes longer."""
    exchanges = read_exchanges()
    verdicts = Counter[str]()
    loop = asyncio.get_running_loop()
    callers = []
    for number in range(connections):
        opening = partial(_Caller, exchanges[number::connections], verdicts)
        callers.append((await loop.create_connection(opening, "127.0.0.1", port))[1])
    await pass_until(perf_counter() + WARM_UP_SECONDS)
    before, started = verdicts[GOOD], perf_counter()
    await pass_until(started + seconds)
    while not all(caller.is_round for caller in callers):
        await pass_until(perf_counter() + _LOOK_SECONDS)
    per_second = (verdicts[GOOD] - before) / (perf_counter() - started)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(caller.stop() for caller in callers))
    return Throughput(per_second, dict(verdicts))


if __name__ == "__main__":
    throughput = uvloop.run(_run(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
    print(msgspec.json.encode(throughput).decode())
