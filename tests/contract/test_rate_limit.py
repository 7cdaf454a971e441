"""The rate limit as callers meet it."""

import asyncio
from collections import Counter

import pytest

from tests.support.config import COUNTERS_APART, OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import Gateway, run_gateway

STAGING_TOKEN = "staging-table-token"


def app(tables: list[dict], **fields) -> dict:
    """A declared app."""
    return {"org": "acme", "app": "shop", "type": "api", "tables": tables} | fields


def with_limit(limit: int, **fields) -> dict:
    """Two tables in an app environment with a limit; `fields` are those of the first table."""
    first = {"name": "sessions", "token": TABLE_TOKEN} | fields
    second = {"name": "carts", "token": OTHER_TABLE_TOKEN}
    return {"apps": [app([first, second], requests_per_minute=limit)]}


async def statuses(gateway: Gateway, times: int, **options) -> Counter[int]:
    """The statuses of so many gets, one after the other."""
    return Counter([(await gateway.get("k", **options)).status for _ in range(times)])


async def test_600_of_1500_parallel_requests_over_tables_and_operations_pass(gateway):
    bodies = {"put": {"key": "k", "value": 1}, "get": {"key": "k"}, "delete": {"key": "k"}}
    calls = [
        gateway.call(operation, bodies[operation], token=token)
        for token in (TABLE_TOKEN, OTHER_TABLE_TOKEN)
        for operation in bodies
        for _ in range(250)
    ]
    counted = Counter(reply.status for reply in await asyncio.gather(*calls))
    assert counted == {200: 600, 429: 900}


async def test_a_refusal_says_so_and_when_to_come_back():
    async with run_gateway(with_limit(1)) as gateway:
        await gateway.get("k")
        refused = await gateway.get("k")
    assert (refused.status, refused.json, refused.headers["Retry-After"]) == (
        429,
        {"error": "rate_limited"},
        "60",
    )


async def test_a_client_that_honours_retry_after_is_served():
    async with run_gateway(with_limit(2)) as gateway:
        await statuses(gateway, 2)
        gateway.clock.advance(17_300)
        refused = await gateway.get("k")
        assert refused.headers["Retry-After"] == "43"
        gateway.clock.advance(43_000)
        assert (await gateway.get("k")).status == 200


async def test_a_window_opens_with_the_first_request_and_not_on_the_minute():
    async with run_gateway(with_limit(2)) as gateway:
        gateway.clock.advance(45_000)
        await statuses(gateway, 2)
        gateway.clock.advance(59_999)
        assert (await gateway.get("k")).status == 429
        gateway.clock.advance(1)
        assert await statuses(gateway, 3) == {200: 2, 429: 1}


async def test_environments_of_one_app_do_not_share_a_window():
    environments = [
        app([{"name": "sessions", "token": TABLE_TOKEN}], requests_per_minute=3),
        app([{"name": "sessions", "token": STAGING_TOKEN}], requests_per_minute=3, env="staging"),
    ]
    async with run_gateway({"apps": environments}) as gateway:
        assert await statuses(gateway, 5) == {200: 3, 429: 2}
        assert await statuses(gateway, 5, token=STAGING_TOKEN) == {200: 3, 429: 2}


async def test_the_default_limit_is_a_setting():
    async with run_gateway({"rate_limit": {"requests_per_minute": 4}}) as gateway:
        assert await statuses(gateway, 6) == {200: 4, 429: 2}


async def test_an_apps_own_limit_counts_more_than_the_default():
    changes = with_limit(6) | {"rate_limit": {"requests_per_minute": 4}}
    async with run_gateway(changes) as gateway:
        assert await statuses(gateway, 8) == {200: 6, 429: 2}


async def test_a_table_at_its_minute_limit_is_refused_while_another_goes_on():
    async with run_gateway(with_limit(10, minute_limit=2)) as gateway:
        assert await statuses(gateway, 95) == {200: 2, 429: 93}
        assert await statuses(gateway, 10, token=OTHER_TABLE_TOKEN) == {200: 8, 429: 2}


async def test_a_flood_costs_the_counter_nothing():
    async with run_gateway(with_limit(2)) as gateway:
        await statuses(gateway, 3)
        asked = gateway.faults.count("charge")
        assert await statuses(gateway, 100) == {429: 100}
        assert gateway.faults.count("charge") == asked


MALFORMED = [
    (b"{", {}),
    (b'{"key":""}', {}),
    (b'{"key":"k"}', {"Content-Type": "text/plain"}),
    (b"", {}),
    (b"[]", {}),
]


@pytest.mark.parametrize(("body", "headers"), MALFORMED, ids=str)
async def test_a_malformed_request_of_a_known_app_is_charged(body, headers):
    async with run_gateway(with_limit(1)) as gateway:
        assert (await gateway.call("get", body, headers=headers)).status == 400
        assert (await gateway.get("k")).status == 429


async def test_over_the_limit_a_malformed_request_is_429():
    async with run_gateway(with_limit(1)) as gateway:
        await gateway.get("k")
        assert (await gateway.call("get", b"{")).status == 429


UNAUTHENTICATED = {
    "unsigned": {"signer": None},
    "without a token": {"token": None},
    "with an unknown token": {"token": "nobody"},
    "to no route": {"path": "/v1/scan"},
    "too large": {"headers": {"x-large": "yes"}},
}


@pytest.mark.parametrize("options", UNAUTHENTICATED.values(), ids=UNAUTHENTICATED.keys())
async def test_a_request_that_an_earlier_stage_refuses_is_not_charged(options):
    body = b"x" * 131_073 if "headers" in options else {"key": "k"}
    async with run_gateway(with_limit(1)) as gateway:
        for _ in range(3):
            assert (await gateway.call("get", body, **options)).status in (401, 403, 404, 413)
        assert gateway.faults.count("charge") == 0
        assert (await gateway.get("k")).status == 200


async def test_a_wrongly_signed_request_is_never_charged(gateway):
    stranger = gateway.signer.but(secret_access_key="wrong")
    assert (await gateway.get("k", signer=stranger)).status == 403
    assert gateway.faults.count("charge") == 0


async def test_an_inactive_app_is_never_charged():
    async with run_gateway(
        {"apps": [app([{"name": "s", "token": TABLE_TOKEN}], status="inactive")]}
    ) as gateway:
        assert (await gateway.get("k")).error == "binding_inactive"
        assert gateway.faults.count("charge") == 0


async def test_a_dead_counter_is_503_and_never_429(gateway):
    gateway.faults.fail = {"charge"}
    reply = await gateway.get("k")
    assert (reply.status, reply.json) == (503, {"error": "quota_unavailable"})
    assert reply.headers["Retry-After"] == "1"


async def test_a_dead_counter_stops_a_put_before_the_store(gateway):
    gateway.faults.fail = {"charge"}
    await gateway.put("k", 1)
    assert gateway.faults.count("put") == 0


async def test_a_dead_counter_that_came_back_counts_again():
    async with run_gateway(with_limit(2)) as gateway:
        gateway.faults.fail = {"charge"}
        await statuses(gateway, 5)
        gateway.faults.fail = set()
        assert await statuses(gateway, 3) == {200: 2, 429: 1}


async def test_a_dead_counter_does_not_stop_calls_if_failures_allow():
    async with run_gateway(COUNTERS_APART | {"rate_limit": {"on_failure": "allow"}}) as gateway:
        gateway.faults.fail = {"charge"}
        assert await statuses(gateway, 3) == {200: 3}


async def test_the_limit_still_holds_if_failures_allow():
    lenient = COUNTERS_APART | {"rate_limit": {"on_failure": "allow"}}
    async with run_gateway(with_limit(2) | lenient) as gateway:
        assert await statuses(gateway, 3) == {200: 2, 429: 1}


class TestManagedApps:
    """Limits that the control plane sets while the replica runs."""

    path = "/v1/orgs/acme/apps/managed"

    async def _register(self, gateway: Gateway, limit: int) -> None:
        body = {"type": "api", "requests_per_minute": limit}
        assert (await gateway.manage("PUT", self.path, body)).status in (200, 201)

    async def _create_table(self, gateway: Gateway, **fields) -> str:
        reply = await gateway.manage("POST", f"{self.path}/services/kvs/tables", {"name": "t", **fields})
        return reply.json["token"]

    async def test_a_raised_limit_takes_effect_immediately(self, gateway):
        await self._register(gateway, 2)
        token = await self._create_table(gateway)
        assert await statuses(gateway, 4, token=token) == {200: 2, 429: 2}
        await self._register(gateway, 5)
        assert await statuses(gateway, 4, token=token) == {200: 3, 429: 1}

    async def test_a_lowered_limit_takes_effect_immediately(self, gateway):
        await self._register(gateway, 5)
        token = await self._create_table(gateway)
        await statuses(gateway, 3, token=token)
        await self._register(gateway, 2)
        assert await statuses(gateway, 2, token=token) == {429: 2}

    async def test_a_managed_tables_minute_limit_holds(self, gateway):
        await self._register(gateway, 10)
        token = await self._create_table(gateway, minute_limit=3)
        assert await statuses(gateway, 5, token=token) == {200: 3, 429: 2}
