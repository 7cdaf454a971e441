"""Clients that repeat one request until they are stopped: `python -m benchmarks.hammer PORT CLIENTS`.

They wait for events instead of polling, so that the generator on the same core keeps its rate.
"""

import asyncio
import os
import sys
from collections import Counter
from functools import partial

import uvloop

from benchmarks.exchange import Connection, Exchange, read_exchanges


class _Caller(Connection):
    def __init__(self, exchange: Exchange, verdicts: Counter[str]) -> None:
        super().__init__(verdicts)
        self._exchange = exchange

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.answered()

    def answered(self) -> None:
        self.send(self._exchange)


async def _run(port: int, clients: int) -> None:
    (exchange,) = read_exchanges()
    opening = partial(_Caller, exchange, Counter[str]())
    loop = asyncio.get_running_loop()
    for _ in range(clients):
        await loop.create_connection(opening, "127.0.0.1", port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    os.nice(10)
    uvloop.run(_run(int(sys.argv[1]), int(sys.argv[2])))
