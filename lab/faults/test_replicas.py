"""Replicas that share one Redis are one service: one limit, one directory."""

import asyncio
import time
from collections import Counter

import pytest

from tests.support.load import Load
from tests.support.process import PATIENT
from tests.support.redis import RedisServer
from tests.support.replicas import clients_of, new_table, replicas
from tests.support.wire import until

ROUNDS = 4
LIMIT = 600
CACHE_TTL_SECONDS = 1.0


def _racers() -> dict:
    """An app environment for each round, so that none waits for a window to close."""
    apps = [
        {"org": "acme", "app": f"race{n}", "type": "api", "requests_per_minute": LIMIT}
        | {"tables": [{"name": "laps", "token": f"token-of-race-{n}"}]}
        for n in range(ROUNDS)
    ]
    return {"apps": apps}


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


async def test_four_processes_that_race_on_one_environment_admit_exactly_its_limit(server, tmp_path):
    async with (
        replicas(server, tmp_path, 4, module=PATIENT, **_racers()) as processes,
        clients_of(processes) as gateways,
    ):
        for number in range(ROUNDS):
            load = Load(gateways, token=f"token-of-race-{number}", clients=32, per_second=10_000)
            async with load:
                await until(lambda load=load: len(load.answers) >= 2 * LIMIT)
            statuses = Counter(answer.status for answer in load.answers)
            assert statuses == {200: LIMIT, 429: len(load.answers) - LIMIT}
            assert load.lies == []
            assert all(1 <= int(a.retry_after) <= 60 for a in load.answers if a.status == 429)


async def test_two_replicas_are_one_directory(server, tmp_path):
    changes = {"directory": {"cache_ttl_seconds": CACHE_TTL_SECONDS}}
    async with (
        replicas(server, tmp_path, 2, module=PATIENT, **changes) as processes,
        clients_of(processes) as (one, other),
    ):
        token = await new_table(one, "posts")
        assert (await other.put("k", 1, token=token)).status == 200
        assert (await one.get("k", token=token)).json["value"] == 1
        await _assert_a_revoked_token_is_refused_everywhere(one, other, token)
        await _assert_replicas_never_pass_the_cap(one, other)


async def _assert_a_revoked_token_is_refused_everywhere(one, other, token: str) -> None:
    path = "/v1/orgs/acme/apps/blog/services/kvs/tables/posts"
    assert (await one.manage("DELETE", path)).status == 204
    revoked = time.monotonic()
    assert (await one.get("k", token=token)).status == 401
    asked = time.monotonic()
    while (await other.get("k", token=token)).status == 200:
        assert asked - revoked < CACHE_TTL_SECONDS + 0.1
        await asyncio.sleep(0.01)
        asked = time.monotonic()
    for gateway in (one, other):
        assert (await gateway.get("k", token=token)).error == "invalid_token"


async def _assert_replicas_never_pass_the_cap(one, other) -> None:
    for number in range(10):
        path = f"/v1/orgs/acme/apps/busy{number}"
        assert (await one.manage("PUT", path, {"type": "api", "max_tables": 3})).status == 201
        attempts = [
            gateway.manage("POST", f"{path}/services/kvs/tables", {"name": f"{name}{n}"})
            for n in range(4)
            for name, gateway in (("one", one), ("other", other))
        ]
        made = await asyncio.gather(*attempts)
        outcomes = Counter((reply.status, reply.error) for reply in made)
        assert outcomes == {(201, None): 3, (409, "table_limit_reached"): 5}
        tables = (await other.manage("GET", f"{path}/services/kvs/tables")).json
        assert len(tables) == 3
        for reply in made:
            if reply.status == 201:
                for gateway in (one, other):
                    assert (await gateway.put("k", 1, token=reply.json["token"])).status == 200
