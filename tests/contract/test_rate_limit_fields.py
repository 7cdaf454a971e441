"""`RateLimit` and `RateLimit-Policy`, where `rate_limit.headers` asks for them."""

import pytest

from tests.support.config import OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import Reply, run_gateway

FIELDS = ("RateLimit", "RateLimit-Policy")


def limits(*, table: int | None, environment: int, **settings) -> dict:
    """Two tables, the first with a limit of its own if one is given."""
    tables = [
        {"name": "sessions", "token": TABLE_TOKEN, "minute_limit": table},
        {"name": "carts", "token": OTHER_TABLE_TOKEN},
    ]
    app = {"org": "acme", "app": "shop", "type": "api", "requests_per_minute": environment, "tables": tables}
    return {"apps": [app], "rate_limit": {"headers": True, **settings}}


def limit_fields(reply: Reply) -> tuple[str | None, ...]:
    return tuple(reply.headers.get(name) for name in FIELDS)


async def test_an_answer_shows_the_limit_the_calls_left_and_the_time_to_reset():
    async with run_gateway(limits(table=None, environment=600)) as gateway:
        assert limit_fields(await gateway.get("k")) == (
            '"app environment";r=599;t=60',
            '"app environment";q=600;w=60',
        )
        gateway.clock.advance(17_300)
        assert limit_fields(await gateway.put("k", 1))[0] == '"app environment";r=598;t=43'
        gateway.clock.advance(42_700)
        assert limit_fields(await gateway.delete("k"))[0] == '"app environment";r=599;t=60'


async def test_the_tighter_of_two_limits_is_shown():
    async with run_gateway(limits(table=3, environment=5)) as gateway:
        assert limit_fields(await gateway.get("k")) == ('"table";r=2;t=60', '"table";q=3;w=60')
        for _ in range(3):
            await gateway.get("k", token=OTHER_TABLE_TOKEN)
        assert limit_fields(await gateway.get("k")) == (
            '"app environment";r=0;t=60',
            '"app environment";q=5;w=60',
        )


@pytest.mark.parametrize("times", [1, 2], ids=["counted", "remembered"])
async def test_a_refusal_shows_the_limit_that_was_hit(times):
    async with run_gateway(limits(table=1, environment=5)) as gateway:
        await gateway.get("k")
        for _ in range(times):
            refused = await gateway.get("k")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "60")
    assert limit_fields(refused) == ('"table";r=0;t=60', '"table";q=1;w=60')


async def test_a_refusal_after_the_rate_limit_shows_the_limit():
    async with run_gateway(limits(table=None, environment=5)) as gateway:
        assert limit_fields(await gateway.call("put", b"{"))[0] == '"app environment";r=4;t=60'
        unmet = await gateway.call("put", {"key": "k", "value": 1}, headers={"If-Match": "*"})
        assert (unmet.status, limit_fields(unmet)[0]) == (412, '"app environment";r=3;t=60')


async def test_no_limit_is_shown_if_the_step_failed():
    async with run_gateway(limits(table=None, environment=5)) as gateway:
        gateway.faults.fail = {"get"}
        assert limit_fields(await gateway.get("k")) == (None, None)


async def test_a_refusal_before_the_rate_limit_shows_no_limit():
    async with run_gateway(limits(table=None, environment=5)) as gateway:
        assert limit_fields(await gateway.get("k", token="wrong")) == (None, None)


@pytest.mark.parametrize("on_failure", ["refuse", "allow"])
async def test_no_limit_is_shown_while_the_counters_are_down(on_failure):
    async with run_gateway(limits(table=None, environment=5, on_failure=on_failure)) as gateway:
        gateway.faults.fail = {"charge"}
        assert limit_fields(await gateway.get("k")) == (None, None)


async def test_no_limit_is_shown_without_the_setting():
    async with run_gateway(limits(table=1, environment=5, headers=False)) as gateway:
        assert limit_fields(await gateway.get("k")) == (None, None)
        assert limit_fields(await gateway.get("k")) == (None, None)


async def test_a_warning_and_a_limit_are_shown_together():
    async with run_gateway(limits(table=None, environment=5)) as gateway:
        reply = await gateway.call("get", {"key": "k", "ttl": 5})
    assert limit_fields(reply)[0] == '"app environment";r=4;t=60'
    assert reply.headers["x-kvs-warning"] == 'unknown field "ttl"'
