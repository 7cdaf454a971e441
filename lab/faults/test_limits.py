"""The limit is exact however many replicas, clients, tables and operations race for it."""

import asyncio
from collections import Counter

import pytest

from lab.faults.fleet import Fleet
from lab.faults.flood import flood
from tests.support.dynamodb import ENVIRONMENT, REGION, Ministack
from tests.support.process import PATIENT
from tests.support.redis import RedisServer

LIMIT = 600
TOKENS = ("token-1", "token-2", "token-3")


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


def racing(*environments: str, **changes) -> dict:
    """App environments with a limit and three tables each, whose tokens begin with the environment's name."""
    apps = []
    for each in environments:
        org, app, env = each.split("/")
        tables = [{"name": f"t{n}", "token": f"{each}-{token}"} for n, token in enumerate(TOKENS)]
        limited = {"requests_per_minute": LIMIT, "tables": tables}
        apps.append({"org": org, "app": app, "env": env, "type": "api", **limited})
    return {"apps": apps, **changes}


def tokens_of(environment: str) -> list[str]:
    return [f"{environment}-{token}" for token in TOKENS]


def on(server: RedisServer, prefix: str) -> dict:
    return {"kind": "redis", "url": server.url, "prefix": prefix}


def charges_of(server: RedisServer) -> int:
    """Returns the number of scripts that Redis has run since it started."""
    lines = server.command("INFO", "commandstats").decode().splitlines()
    counted = [line for line in lines if line.startswith(("cmdstat_evalsha:", "cmdstat_eval:"))]
    return sum(int(line.partition("calls=")[2].partition(",")[0]) for line in counted)


async def test_two_replicas_admit_exactly_the_limit_over_tables_and_operations(server, tmp_path):
    changes = racing("acme/shop/production", store=on(server, "two"))
    async with Fleet(tmp_path, [changes] * 2, module=PATIENT) as fleet:
        seen = await flood(fleet.gateways, 1_200, tokens=tokens_of("acme/shop/production"))
    assert seen.statuses == {200: LIMIT, 429: 600}
    assert min(seen.retry_after) >= 1
    assert max(seen.retry_after) <= 60


@pytest.mark.heavy
async def test_a_client_that_waits_as_long_as_retry_after_is_admitted_by_every_replica(server, tmp_path):
    changes = racing("acme/shop/production", store=on(server, "wait"))
    async with Fleet(tmp_path, [changes] * 2, module=PATIENT) as fleet:
        seen = await flood(fleet.gateways, 1_200, tokens=tokens_of("acme/shop/production"))
        await asyncio.sleep(max(seen.retry_after))
        again = await flood(fleet.gateways, LIMIT, tokens=tokens_of("acme/shop/production"))
    assert again.statuses == {200: LIMIT}


@pytest.mark.heavy
async def test_a_flood_at_four_replicas_costs_redis_the_limit_and_the_calls_in_flight(server, tmp_path):
    changes = racing("acme/shop/production", store=on(server, "four"))
    connections = 40
    async with Fleet(tmp_path, [changes] * 4, module=PATIENT) as fleet:
        before = charges_of(server)
        seen = await flood(
            fleet.gateways, 25_000, tokens=tokens_of("acme/shop/production"), connections=connections
        )
        charged = charges_of(server) - before
    assert seen.statuses == {200: LIMIT, 429: 25_000 - LIMIT}
    assert charged <= LIMIT + connections


@pytest.mark.heavy
async def test_environments_and_organizations_do_not_share_a_window(server, tmp_path):
    environments = ("acme/shop/production", "acme/shop/staging", "other/shop/production")
    changes = racing(*environments, store=on(server, "apart"))
    async with Fleet(tmp_path, [changes] * 2, module=PATIENT) as fleet:
        floods = [flood(fleet.gateways, 900, tokens=tokens_of(each), connections=14) for each in environments]
        for seen in await asyncio.gather(*floods):
            assert seen.statuses == {200: LIMIT, 429: 300}


async def test_two_replicas_on_dynamodb_admit_exactly_the_limit(tmp_path):
    store = {"kind": "dynamodb", "table": "kvs", "region": REGION, "create_table": True}
    with Ministack() as engine:
        store["endpoint_url"] = engine.endpoint_url
        changes = racing("acme/shop/production", store=store)
        async with Fleet(tmp_path, [changes] * 2, ENVIRONMENT, PATIENT) as fleet:
            seen = await flood(fleet.gateways, 700, tokens=tokens_of("acme/shop/production"), connections=24)
    assert seen.statuses == {200: LIMIT, 429: 100}


@pytest.mark.parametrize(
    ("on_failure", "expected"), [("refuse", {503: 200}), ("allow", {200: 200})], ids=["refuse", "allow"]
)
async def test_with_counters_away_calls_are_refused_or_let_pass_as_is_set(
    server, tmp_path, on_failure, expected
):
    with RedisServer() as counters:
        rate_limit = {"requests_per_minute": 1_000_000, "on_failure": on_failure}
        stores = {"store": on(server, on_failure), "counters": {"kind": "redis", "url": counters.url}}
        async with Fleet(tmp_path, [{**stores, "rate_limit": rate_limit}]) as fleet:
            assert (await flood(fleet.gateways, 200)).statuses == {200: 200}
            counters.kill()
            seen = await flood(fleet.gateways, 200)
            failed = (await fleet.gateways[0].metrics())[
                'kvs_store_duration_seconds_count{backend="redis",operation="charge",outcome="error"}'
            ]
    assert seen.statuses == Counter(expected)
    assert set(seen.codes) <= {"quota_unavailable"}
    assert failed == 200
