"""Conditions: `If-Match` and `If-None-Match` as callers send them."""

import pytest

from tests.support.wire import CLOSE, send_one, signed_call

PUT = b'{"key":"k","value":1}'
TOUCH = b'{"key":"k","ttlSeconds":null}'
BODIES = {"put": PUT, "delete": b'{"key":"k"}', "touch": TOUCH}

NOT_ONE_TAG = {
    "nothing": "",
    "no quotes": "FJ2a0",
    "one quote": '"FJ2a0',
    "an empty tag": '""',
    "a weak tag": 'W/"FJ2a0"',
    "a weak star": "W/*",
    "a list": '"a", "b"',
    "a list without blanks": '"a","b"',
    "a list of a tag and a star": '"a",*',
    "a tag and a comma": '"a",',
    "a blank inside": '"a b"',
    "33 characters": '"' + "x" * 33 + '"',
    "a letter that is not ASCII": '"é"',
    "a star in quotes and without": '*"*"',
    "two stars": "**",
}


@pytest.mark.parametrize("tag", NOT_ONE_TAG.values(), ids=NOT_ONE_TAG.keys())
async def test_a_field_that_is_not_one_strong_tag_is_refused(gateway, tag):
    extra = [("If-Match", tag), CLOSE]
    reply = await send_one(gateway, signed_call(gateway, "put", PUT, extra=extra))
    assert (reply.status, reply.json) == (400, {"error": "invalid_precondition"})


@pytest.mark.parametrize("tag", ['"x"', '"a,b"', '"' + "!" * 32 + '"', '"*"', '"W/"', r'"\"'])
@pytest.mark.parametrize("operation", BODIES)
async def test_a_tag_of_no_entry_is_not_met(gateway, operation, tag):
    reply = await gateway.call(operation, BODIES[operation], headers={"If-Match": tag})
    assert (reply.status, reply.json) == (412, {"error": "precondition_failed"})
    assert "ETag" not in reply.headers


@pytest.mark.parametrize("fields", [["*", "*"], ['"a', 'b"'], ['"a"', '"a"']])
@pytest.mark.parametrize("name", ["If-Match", "If-None-Match"])
async def test_a_repeated_field_is_refused(gateway, name, fields):
    extra = [(name, value) for value in fields] + [CLOSE]
    reply = await send_one(gateway, signed_call(gateway, "put", PUT, extra=extra))
    assert (reply.status, reply.error) == (400, "invalid_precondition")


async def test_both_fields_at_once_are_refused(gateway):
    reply = await gateway.call("put", PUT, headers={"If-Match": "*", "If-None-Match": "*"})
    assert (reply.status, reply.error) == (400, "invalid_precondition")


@pytest.mark.parametrize("tag", ['"x"', 'W/"x"', "", "**", '"*"'])
async def test_only_a_star_may_be_in_if_none_match(gateway, tag):
    reply = await gateway.call("put", PUT, headers={"If-None-Match": tag})
    assert (reply.status, reply.error) == (400, "invalid_precondition")


@pytest.mark.parametrize(
    ("operation", "name"),
    [("delete", "If-None-Match"), ("touch", "If-None-Match")]
    + [
        (operation, name)
        for operation in ("get", "list", "increment", "batch")
        for name in ("If-Match", "If-None-Match")
    ],
)
async def test_a_condition_that_an_operation_does_not_have_is_refused_and_not_ignored(
    gateway, operation, name
):
    await gateway.put("k", 1)
    reply = await gateway.call(operation, {"key": "k", "ttlSeconds": 60}, headers={name: "*"})
    assert (reply.status, reply.error) == (400, "invalid_precondition")
    assert (await gateway.get("k")).json["value"] == 1


async def test_conditions_are_checked_after_the_content_type_and_before_the_body(gateway):
    headers = {"If-Match": "x", "Content-Type": "text/plain"}
    assert (await gateway.call("put", b"{", headers=headers)).error == "invalid_content_type"
    assert (await gateway.call("put", b"{", headers={"If-Match": "x"})).error == "invalid_precondition"


@pytest.mark.parametrize("operation", BODIES)
async def test_an_etag_as_it_was_answered_is_met_once(gateway, operation):
    tag = (await gateway.put("k", 1)).headers["ETag"]
    met = await gateway.call(operation, BODIES[operation], headers={"If-Match": tag})
    again = await gateway.call(operation, BODIES[operation], headers={"If-Match": tag})
    assert (met.status, again.status) == (200, 412)
    assert again.headers.get("ETag") == met.headers.get("ETag")


async def test_a_precondition_that_failed_shows_the_etag_of_the_live_entry(gateway):
    tag = (await gateway.put("k", 1)).headers["ETag"]
    reply = await gateway.call("put", PUT, headers={"If-None-Match": "*"})
    assert (reply.status, reply.headers["ETag"]) == (412, tag)
    gateway.clock.advance(1)
    assert (await gateway.get("k")).headers["ETag"] == tag


async def test_a_call_without_condition_has_the_body_that_it_always_had(gateway):
    put, get = await gateway.call("put", PUT), await gateway.get("k")
    deleted, missing = await gateway.delete("k"), await gateway.get("k")
    assert (put.body, get.body) == (b'{"ok":true}', b'{"found":true,"value":1,"expiresAt":null}')
    assert put.headers["ETag"] == get.headers["ETag"]
    assert (deleted.body, missing.body) == (b'{"deleted":true}', b'{"found":false,"expiresAt":null}')
    assert not {"ETag"} & (deleted.headers.keys() | missing.headers.keys())
