"""Cursors of lists: each works for its own table and prefix, and for nothing else."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest

from tests.support.gateway import run_gateway

KEYS = ["a/1", "a/2", "a/3", "b"]
TABLES = [{"name": name, "token": f"test-{name}-token"} for name in ("first", "second")]
APPS = {"apps": [{"org": "acme", "app": "shop", "type": "api", "tables": TABLES}]}


@pytest.fixture
async def cursor(gateway):
    """The cursor behind `a/1` among the keys that begin with `a/`."""
    for key in KEYS:
        await gateway.put(key, 1)
    return (await gateway.call("list", {"prefix": "a/", "limit": 1})).json["cursor"]


async def keys_behind(gateway, cursor, prefix="a/", **fields):
    reply = await gateway.call("list", {"prefix": prefix, "cursor": cursor} | fields)
    return reply.error or [entry["key"] for entry in reply.json["entries"]]


async def test_a_cursor_leads_to_the_next_page_whatever_its_size(gateway, cursor):
    assert await keys_behind(gateway, cursor) == ["a/2", "a/3"]
    assert await keys_behind(gateway, cursor, limit=1, values=True) == ["a/2"]


async def test_null_is_no_cursor(gateway, cursor):
    assert await keys_behind(gateway, None) == ["a/1", "a/2", "a/3"]


async def test_a_cursor_works_after_its_key_was_deleted(gateway, cursor):
    await gateway.delete("a/1")
    assert await keys_behind(gateway, cursor) == ["a/2", "a/3"]


@pytest.mark.parametrize("prefix", ["", "a", "a/1", "b", "A/"])
async def test_a_cursor_of_another_prefix_is_refused(gateway, cursor, prefix):
    assert await keys_behind(gateway, cursor, prefix) == "invalid_cursor"


async def test_a_cursor_of_another_table_is_refused():
    async with run_gateway(APPS) as gateway:
        for table in TABLES:
            for key in KEYS:
                await gateway.put(key, 1, token=table["token"])
        first = await gateway.call("list", {"limit": 1}, token="test-first-token")
        body = {"cursor": first.json["cursor"]}
        assert (await gateway.call("list", body, token="test-first-token")).status == 200
        reply = await gateway.call("list", body, token="test-second-token")
        assert (reply.status, reply.json) == (400, {"error": "invalid_cursor"})


async def test_a_cursor_that_was_changed_is_refused(gateway, cursor):
    decoded = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    changed = [decoded[:place] + bytes([decoded[place] ^ 1]) + decoded[place + 1 :] for place in range(12)]
    for each in [*changed, decoded[:-1], decoded + b"x", decoded[:9], decoded[1:]]:
        assert await keys_behind(gateway, urlsafe_b64encode(each).decode().rstrip("=")) == "invalid_cursor"


@pytest.mark.parametrize("sent", ["", "a/1", "=", "AQ", "é", "\0", " ", "A" * 2000, 1, True, ["x"], {}])
async def test_anything_else_is_no_cursor(gateway, sent):
    assert await keys_behind(gateway, sent) == "invalid_cursor"


@pytest.mark.parametrize("extra", ["=", "==", " ", "\n", "A"])
async def test_a_cursor_with_more_characters_is_refused(gateway, cursor, extra):
    assert await keys_behind(gateway, cursor + extra) == "invalid_cursor"
    assert await keys_behind(gateway, extra + cursor) == "invalid_cursor"
