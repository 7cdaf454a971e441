"""CPU per request by the number of tenants that call in turn, in one process and without a kernel.

A program: `python -m benchmarks.growth TENANTS ROUNDS STORE`, STORE as JSON. All tenants are there and have
called. Then in each round one of them calls, then so many in turn: rounds are short, so that what disturbs
disturbs all alike, and each goes on where the last one has ended, so that nobody calls again soon.
"""

import asyncio
import gc
import sys
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from time import process_time
from typing import Any

import msgspec
import uvloop
import yaml

from benchmarks.signed import gateway_config
from benchmarks.silent import SilentConnection, open_connection
from benchmarks.tenants import GET_MISSING, signed_head, write_tenants
from gateway.app import App, build_app
from gateway.config.loading import parse as parse_settings
from gateway.directory.tokens import new_token

_AT_ONCE = 64
_CALLS = 4000
_SOME = 1000
_PORT = 8080


async def _run(count: int, rounds: int, store: dict[str, Any]) -> dict[str, list[float]]:
    """Microseconds of each round, by how many tenants called in turn."""
    app = await build_app(parse_settings(yaml.safe_dump(gateway_config(0, 0, store)), {}))
    tokens = [new_token() for _ in range(count)]
    async with app.replica.running():
        await write_tenants(app.stores.records, tokens)
        gc.collect()
        gc.freeze()  # as `gateway.replica.run` does before the first request
        connections = await _connections(app)
        await _call(connections, tokens)
        turns = {some: cycle(tokens[:some]) for some in sorted({1, min(_SOME, count), count})}
        figures: dict[str, list[float]] = {str(some): [] for some in turns}
        for _ in range(rounds):
            for some, turn in turns.items():
                figures[str(some)].append(await _call(connections, list(islice(turn, _CALLS))))
    return figures


async def _connections(app: App) -> list[SilentConnection]:
    connections = [open_connection(app, app.data.handler.handle) for _ in range(_AT_ONCE)]
    await asyncio.sleep(0)
    return connections


async def _call(connections: Sequence[SilentConnection], tokens: Sequence[str]) -> float:
    """Microseconds per call."""
    head = signed_head(_PORT)
    requests = iter([b"%b%b\r\n\r\n%b" % (head, token.encode(), GET_MISSING.body) for token in tokens])
    started = process_time()
    await asyncio.gather(*(_repeat(connection, requests) for connection in connections))
    return (process_time() - started) / len(tokens) * 1e6


async def _repeat(connection: SilentConnection, requests: Iterable[bytes]) -> None:
    for request in requests:
        await connection.answer_to(request)
        if not connection.written.endswith(GET_MISSING.answer):
            raise SystemExit("the gateway did not answer as expected")


if __name__ == "__main__":
    found = uvloop.run(_run(int(sys.argv[1]), int(sys.argv[2]), msgspec.json.decode(sys.argv[3])))
    print(msgspec.json.encode(found).decode())
