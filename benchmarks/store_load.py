"""What a replica asks its store: at rest with more and more apps, and for each request. The stores count."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import msgspec

from backends.settings import DynamoSettings
from benchmarks import gateways
from benchmarks.exchange import Exchange
from benchmarks.figures import AtRest, DynamoCost, DynamoLoad, RedisLoad
from benchmarks.gateways import on_redis
from benchmarks.generators import BUSY_SHARE, CLOSED_CONNECTIONS, measure_throughput
from benchmarks.plan import Plan
from benchmarks.processes import Server, Unmeasurable
from benchmarks.redis import running_redis, sent_commands, used_bytes
from benchmarks.relay import Tally
from benchmarks.tenants import GET_FOUND, GET_MISSING, PUT, exchanges_of, make_tenants, make_tenants_in

_CONNECTIONS_OF_THE_EMULATOR = 1
_SETTLING_SECONDS = 4.0
"""What a replica asks once, at its start, is asked then."""


def measure_redis(folder: Path, plan: Plan) -> RedisLoad:
    """One Redis, in which there are more and more apps, and a new replica for each number of them."""
    with running_redis() as redis_port:
        tokens: list[str] = []
        at_rest = []
        for apps in plan.resting_apps:
            tokens += make_tenants(redis_port, apps - len(tokens), first=len(tokens))
            with gateways.running_gateway(folder, on_redis(redis_port)) as server:
                at_rest.append(AtRest(apps, _per_second(redis_port, plan.rest_seconds)))
                if apps == plan.resting_apps[-1]:
                    return _with_requests(redis_port, server, tokens, at_rest)
    raise Unmeasurable("no number of apps was planned")


def _per_second(redis_port: int, seconds: float) -> dict[str, float]:
    sleep(_SETTLING_SECONDS)
    before, began = sent_commands(redis_port), monotonic()
    sleep(seconds)
    spent = sent_commands(redis_port) - before - Counter(info=1)
    return {name: count / (monotonic() - began) for name, count in sorted(spent.items())}


def _with_requests(
    redis_port: int, server: Server, tokens: Sequence[str], at_rest: list[AtRest]
) -> RedisLoad:
    """Of all tenants in turn, each known by then."""
    gets = exchanges_of(tokens, server.port, GET_MISSING)
    _called(server, gets)
    bytes_before = used_bytes(redis_port)
    before, began = sent_commands(redis_port), monotonic()
    answered = _called(server, gets + exchanges_of(tokens, server.port, PUT))
    spent, seconds = (sent_commands(redis_port) - before).total() - 1, monotonic() - began
    beside = seconds * sum(at_rest[-1].per_second.values())
    entry_bytes = (used_bytes(redis_port) - bytes_before) / len(tokens)
    return RedisLoad(at_rest, answered, (spent - beside) / answered, entry_bytes)


def _called(server: Server, exchanges: Sequence[Exchange], connections: int = CLOSED_CONNECTIONS) -> int:
    """Each exchange at least once; how many were answered."""
    return measure_throughput(server, exchanges, 0.0, connections, refused_share=BUSY_SHARE).answered


def measure_dynamodb(folder: Path, plan: Plan) -> DynamoLoad:
    """An emulator behind a relay that counts. It is slow, so there are fewer apps."""
    with gateways.running_emulator(folder) as engine_port, gateways.running_relay(engine_port) as relay_port:
        store = gateways.on_dynamodb(relay_port)
        os.environ.update(gateways.AWS)
        with gateways.running_gateway(folder, store) as server:
            settings = DynamoSettings(
                table=store["table"], region=store["region"], endpoint_url=store["endpoint_url"]
            )
            tokens = make_tenants_in(settings, plan.dynamodb_apps)
            sleep(_SETTLING_SECONDS)
            before, began = _tally(relay_port), monotonic()
            sleep(plan.rest_seconds)
            at_rest = _cost(before, _tally(relay_port), monotonic() - began)
            missing = exchanges_of(tokens, server.port, GET_MISSING, least=1)
            _called(server, missing, _CONNECTIONS_OF_THE_EMULATOR)
            put, get = (
                _of_requests(relay_port, server, exchanges_of(tokens, server.port, call, least=1), at_rest)
                for call in (PUT, GET_FOUND)
            )
            return DynamoLoad(len(tokens), at_rest, put, get)


def _of_requests(
    relay_port: int, server: Server, exchanges: Sequence[Exchange], at_rest: DynamoCost
) -> DynamoCost:
    """Per request, without what the replica asks at rest."""
    before, began = _tally(relay_port), monotonic()
    answered = _called(server, exchanges, _CONNECTIONS_OF_THE_EMULATOR)
    spent = _cost(before, _tally(relay_port), answered)
    share = (monotonic() - began) / answered
    requests = {name: count - share * at_rest.requests.get(name, 0) for name, count in spent.requests.items()}
    return DynamoCost(
        requests,
        spent.read_units - share * at_rest.read_units,
        spent.written_units - share * at_rest.written_units,
    )


def _cost(before: Tally, after: Tally, parts: float) -> DynamoCost:
    spent = Counter(after.requests) - Counter(before.requests)
    return DynamoCost(
        {name: count / parts for name, count in sorted(spent.items())},
        (after.read_units - before.read_units) / parts,
        (after.written_units - before.written_units) / parts,
    )


def _tally(relay_port: int) -> Tally:
    with urlopen(f"http://127.0.0.1:{relay_port}/") as answer:
        return msgspec.json.decode(answer.read(), type=Tally)
