"""Time to live and `expiresAt`."""

import pytest

from tests.support.clock import FakeClock
from tests.support.gateway import run_gateway

NOON_MS = 1_795_176_000_000
"""2026-11-20T12:00:00Z"""


async def put_with(gateway, ttl: bytes):
    return await gateway.call("put", b'{"key":"k","value":1,"ttlSeconds":' + ttl + b"}")


@pytest.mark.parametrize("ttl", [b"60", b"61", b"3600", b"31536000"])
async def test_a_time_to_live_from_60_seconds_to_365_days_is_accepted(gateway, ttl):
    assert (await put_with(gateway, ttl)).status == 200


@pytest.mark.parametrize("ttl", [b"59", b"0", b"-0", b"-1", b"-60", b"31536001", b"99999999999", b"9" * 400])
async def test_a_time_to_live_out_of_range_is_refused(gateway, ttl):
    reply = await put_with(gateway, ttl)
    assert (reply.status, reply.json) == (400, {"error": "invalid_ttl"})


@pytest.mark.parametrize(
    "ttl",
    [
        b"true",
        b"60.0",
        b'"60"',
        b"null",
        b"6e1",
        b"6E1",
        b"600e-1",
        b"1e400",
        b"[60]",
        b"{}",
        b"[]",
        b'""',
        b"false",
    ],
)
async def test_a_time_to_live_that_is_not_written_as_an_integer_is_refused(gateway, ttl):
    reply = await put_with(gateway, ttl)
    assert (reply.status, reply.error) == (400, "invalid_ttl")


@pytest.mark.parametrize(
    "ttl", [b"060", b"+60", b"60.", b"0x3c", b"6_0", b"NaN", b"Infinity", b"", "\uff16\uff10".encode()]
)
async def test_a_malformed_number_is_invalid_json(gateway, ttl):
    reply = await put_with(gateway, ttl)
    assert (reply.status, reply.error) == (400, "invalid_json")


async def test_white_space_around_the_number_does_not_matter(gateway):
    assert (await put_with(gateway, b" \n60\t ")).status == 200


async def test_a_get_returns_the_expiry_in_utc_with_milliseconds():
    async with run_gateway(clock=FakeClock(NOON_MS + 7)) as gateway:
        await gateway.put("k", 1, ttl_seconds=60)
        assert (await gateway.get("k")).json["expiresAt"] == "2026-11-20T12:01:00.007Z"


async def test_an_expiry_on_a_whole_second_has_milliseconds_as_well():
    async with run_gateway(clock=FakeClock(NOON_MS)) as gateway:
        await gateway.put("k", 1, ttl_seconds=31_536_000)
        assert (await gateway.get("k")).json["expiresAt"] == "2027-11-20T12:00:00.000Z"


async def test_a_put_without_time_to_live_has_no_expiry(gateway):
    await gateway.put("k", 1)
    gateway.clock.advance(10 * 31_536_000_000)
    assert (await gateway.get("k")).json == {"found": True, "value": 1, "expiresAt": None}


async def test_a_put_without_time_to_live_clears_an_earlier_expiry(gateway):
    await gateway.put("k", "old", ttl_seconds=60)
    await gateway.put("k", "new")
    gateway.clock.advance(60_000)
    assert (await gateway.get("k")).json == {"found": True, "value": "new", "expiresAt": None}


async def test_a_later_put_sets_the_expiry_anew(gateway):
    await gateway.put("k", "old", ttl_seconds=60)
    gateway.clock.advance(30_000)
    await gateway.put("k", "new", ttl_seconds=60)
    gateway.clock.advance(59_999)
    assert (await gateway.get("k")).json["value"] == "new"


async def test_an_expired_key_can_be_put_again(gateway):
    await gateway.put("k", "old", ttl_seconds=60)
    gateway.clock.advance(60_000)
    await gateway.put("k", "new")
    assert (await gateway.get("k")).json == {"found": True, "value": "new", "expiresAt": None}


async def test_a_configured_default_holds_where_none_is_sent():
    async with run_gateway({"limits": {"default_ttl_seconds": 60}}) as gateway:
        await gateway.put("k", 1)
        gateway.clock.advance(59_999)
        assert (await gateway.get("k")).json["found"] is True
        gateway.clock.advance(1)
        assert (await gateway.get("k")).json["found"] is False


async def test_a_time_to_live_that_is_sent_goes_before_the_configured_default():
    async with run_gateway({"limits": {"default_ttl_seconds": 60}}) as gateway:
        await gateway.put("k", 1, ttl_seconds=120)
        gateway.clock.advance(119_999)
        assert (await gateway.get("k")).json["found"] is True


async def test_configured_bounds_hold_to_the_second():
    async with run_gateway({"limits": {"min_ttl_seconds": 1, "max_ttl_seconds": 10}}) as gateway:
        replies = [await gateway.put("k", 1, ttl_seconds=ttl) for ttl in (0, 1, 10, 11)]
        assert [reply.status for reply in replies] == [400, 200, 200, 400]


@pytest.mark.parametrize("operation", ["get", "delete"])
async def test_a_time_to_live_in_a_get_or_delete_is_ignored(gateway, operation):
    assert (await gateway.call(operation, {"key": "k", "ttlSeconds": "never"})).status == 200
