"""CPU per stage of the gateway, in this process: each stage alone, over the calls that the generators send.

A program: `python -m benchmarks.stages CALLS STORE`, STORE as JSON. What waits for a store runs 64 at once.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import process_time
from typing import Any

import msgspec
import uvloop
import yaml

from backends.clock import SystemClock
from benchmarks.exchange import VALUE, Exchange
from benchmarks.signed import gateway_config, signed_exchanges
from benchmarks.silent import call_of, open_connection
from gateway.app import App, build_app
from gateway.composition.data import caller_policy, token_policy
from gateway.composition.directory import declared_apps
from gateway.config.loading import parse as parse_settings
from gateway.config.settings import Settings
from gateway.dataplane.bodies import parse
from gateway.dataplane.metering import meter_of
from gateway.dataplane.policies.binding import admit
from gateway.dataplane.policies.rate_limit import RateLimitPolicy
from gateway.dataplane.steps import Steps
from gateway.directory.parts import Defaults, directory_parts
from gateway.directory.resolve.bindings import CachedBindings
from gateway.domain.answers import Answer
from gateway.domain.call import Call
from gateway.domain.model import Get, Operation, Put, ResponseNotes
from gateway.domain.outcomes import render
from gateway.domain.rules import Limits
from gateway.http.messages import Handler, Request, Response

AT_ONCE = 64
_REPETITIONS = 5
_PORT = 8080

Work = Callable[[], Awaitable[object]]


async def _run(calls: int, store: dict[str, Any]) -> dict[str, dict[str, float]]:
    settings = parse_settings(yaml.safe_dump(gateway_config(_PORT, 0, store)), {})
    app = await build_app(settings)
    await _until_it_answers(app)
    figures = {
        operation.value: await _stages(app, settings, operation, calls)
        for operation in (Operation.PUT, Operation.GET)
    }
    for backend in app.stores.backends:
        await backend.close()
    return figures


async def _stages(app: App, settings: Settings, operation: Operation, calls: int) -> dict[str, float]:
    """Microseconds by stage. `pipeline` is all policies; `edge` and `all together` are without the kernel."""
    exchange = signed_exchanges(_PORT, operation)[0]
    call = call_of(exchange.request, operation)
    figures = await _policies(app, settings, call, calls)
    answer = Answer(200, exchange.body)

    async def constant(_: Request) -> Response:
        return Response(answer)

    figures["pipeline"] = await _awaited(lambda: app.data.pipeline.serve(call), calls)
    figures["edge"] = await _through(app, constant, exchange, calls)
    figures["all together"] = await _through(app, app.data.handler.handle, exchange, calls)
    return figures


async def _policies(app: App, settings: Settings, call: Call, calls: int) -> dict[str, float]:
    clock = SystemClock()
    signature = caller_policy(settings, clock)
    tokens = token_policy(settings, _bindings(app, settings))
    rate_limit = RateLimitPolicy(clock.monotonic_ms)
    steps = Steps(app.stores.backends[0].charged, rate_limit, clock, lambda _: None)
    notes = ResponseNotes()
    caller, limits = signature.verify(call), Limits()
    binding = await tokens.bind(call, caller)
    open_meter = meter_of(app.data.usage)
    grant = admit(caller, binding)
    request = parse(call, limits, ResponseNotes(), grant.table.keyspace)
    assert isinstance(request, Put | Get)
    await steps.execute(open_meter(grant, call), Put(request.key, VALUE, None), notes)
    outcome = await steps.execute(open_meter(grant, call), request, notes)
    answer = render(outcome)
    return {
        "signature": _microseconds(lambda: signature.verify(call), calls),
        "token": await _awaited(lambda: tokens.bind(call, caller), calls),
        "admission": _microseconds(lambda: admit(caller, binding), calls),
        "parse": _microseconds(lambda: parse(call, limits, ResponseNotes(), grant.table.keyspace), calls),
        "step": await _awaited(lambda: steps.execute(open_meter(grant, call), request, notes), calls),
        "render": _microseconds(lambda: render(outcome), calls),
        "meter": _microseconds(lambda: open_meter(grant, call).close(answer), calls),
    }


def _bindings(app: App, settings: Settings) -> CachedBindings:
    backend = app.stores.backends[0]
    defaults = Defaults(settings.rate_limit.requests_per_minute, settings.directory.max_tables)
    parts = directory_parts(
        declared_apps(settings),
        backend.records,
        backend.tables,
        SystemClock(),
        defaults=defaults,
        fresh_ms=10_000,
        stale_ms=600_000,
    )
    return parts.bindings


def _microseconds(work: Callable[[], object], calls: int) -> float:
    """The least of some repetitions: what disturbs only adds."""
    figures = []
    for _ in range(_REPETITIONS):
        started = process_time()
        for _ in range(calls // _REPETITIONS):
            work()
        figures.append(process_time() - started)
    return min(figures) / (calls // _REPETITIONS) * 1e6


async def _awaited(work: Work, calls: int) -> float:
    return await _at_once([work] * AT_ONCE, calls)


async def _at_once(workers: Sequence[Work], calls: int) -> float:
    """The same, where each worker repeats its work beside the others."""
    times = calls // _REPETITIONS // len(workers) + 1

    async def repeat(work: Work) -> None:
        for _ in range(times):
            await work()

    figures = []
    for _ in range(_REPETITIONS):
        started = process_time()
        await asyncio.gather(*map(repeat, workers))
        figures.append(process_time() - started)
    return min(figures) / (times * len(workers)) * 1e6


async def _through(app: App, handler: Handler, exchange: Exchange, calls: int) -> float:
    connections = [open_connection(app, handler) for _ in range(AT_ONCE)]
    await asyncio.sleep(0)
    figure = await _at_once([partial(each.answer_to, exchange.request) for each in connections], calls)
    if not connections[0].written.endswith(exchange.body):
        raise SystemExit("the gateway did not answer as expected")
    for connection in connections:
        connection.protocol.connection_lost(None)
    return figure


async def _until_it_answers(app: App) -> None:
    for _ in range(100):
        await app.ops.health.check()
        if app.ops.health.status.value == "ready":
            return
        await asyncio.sleep(0.05)
    raise SystemExit("the store does not answer")


if __name__ == "__main__":
    found = uvloop.run(_run(int(sys.argv[1]), msgspec.json.decode(sys.argv[2])))
    print(msgspec.json.encode(found).decode())
