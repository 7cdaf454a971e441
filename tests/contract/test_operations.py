"""Specification, section 4: the three operations over HTTP."""


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
    assert (await gateway.get("short")).json["found"] is False


async def test_deleting_a_missing_key_reports_deleted(gateway):
    assert (await gateway.delete("nobody")).json == {"deleted": True}
