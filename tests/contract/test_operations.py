"""The three operations over HTTP."""

import pytest


async def test_a_value_that_was_put_is_found(gateway):
    assert (await gateway.put("user:1", {"name": "Ada"})).json == {"ok": True}
    assert (await gateway.get("user:1")).json == {"found": True, "value": {"name": "Ada"}, "expiresAt": None}


async def test_a_missing_key_is_not_found_and_has_no_value(gateway):
    assert (await gateway.get("nobody")).json == {"found": False, "expiresAt": None}


async def test_an_entry_is_missing_from_the_millisecond_of_its_expiry(gateway):
    await gateway.put("short", 1, ttl_seconds=60)
    gateway.clock.advance(59_999)
    assert (await gateway.get("short")).json["found"] is True
    gateway.clock.advance(1)
    assert (await gateway.get("short")).json == {"found": False, "expiresAt": None}


async def test_deleting_a_missing_key_reports_deleted(gateway):
    assert (await gateway.delete("nobody")).json == {"deleted": True}


async def test_a_deleted_key_is_missing(gateway):
    await gateway.put("gone", 1)
    assert (await gateway.delete("gone")).json == {"deleted": True}
    assert (await gateway.get("gone")).json == {"found": False, "expiresAt": None}


async def test_deleting_an_expired_key_reports_deleted(gateway):
    await gateway.put("short", 1, ttl_seconds=60)
    gateway.clock.advance(60_000)
    assert (await gateway.delete("short")).json == {"deleted": True}


@pytest.mark.parametrize("operation", ["put", "get", "delete"])
async def test_every_operation_succeeds_with_200(gateway, operation):
    reply = await gateway.call(operation, {"key": "k", "value": 1})
    assert reply.status == 200


async def test_every_get_sees_the_put_that_was_acknowledged_before_it(gateway):
    for number in range(50):
        await gateway.put("counter", number)
        assert (await gateway.get("counter")).json["value"] == number


async def test_a_second_put_replaces_the_value_whole(gateway):
    await gateway.put("k", {"a": 1, "b": 2})
    await gateway.put("k", {"a": 3})
    assert (await gateway.get("k")).json["value"] == {"a": 3}


async def test_a_refused_put_leaves_the_old_value(gateway):
    await gateway.put("k", "old")
    assert (await gateway.put("k", "new", ttl_seconds=59)).status == 400
    assert (await gateway.get("k")).json["value"] == "old"


async def test_reading_an_entry_does_not_extend_its_life(gateway):
    await gateway.put("k", 1, ttl_seconds=60)
    gateway.clock.advance(30_000)
    await gateway.get("k")
    gateway.clock.advance(30_000)
    assert (await gateway.get("k")).json["found"] is False


async def test_a_query_string_that_is_signed_changes_nothing(gateway):
    await gateway.put("k", 1)
    reply = await gateway.call("get", {"key": "k"}, path="/v1/get?trace=1")
    assert reply.json["value"] == 1
