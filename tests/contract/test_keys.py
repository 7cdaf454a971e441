"""Valid and invalid keys."""

import json

import pytest

OPERATIONS = ["put", "get", "delete"]

GOOD = {
    "a path": "users/1/profile",
    "colons": "session:2026:abc",
    "a blank": " ",
    "a NUL": "\0",
    "controls": "\x01\x1f\x7f",
    "quotes and backslashes": '"\\',
    "an emoji": "\U0001f600",
    "a combining accent": "e\u0301",
    "a noncharacter": "\uffff",
    "a byte order mark": "\ufeff",
    "right to left": "\u202eabc",
    "newlines": "a\r\nb",
    "a prototype": "__proto__",
}

TOO_LONG = {
    "513 letters": "k" * 513,
    "512 bytes and one": "é" * 256 + "k",
    "171 euro signs": "€" * 171,
    "129 emojis": "\U0001f600" * 129,
}

LONGEST = {
    "512 letters": "k" * 512,
    "256 letters of two bytes": "é" * 256,
    "170 letters of three bytes and two": "€" * 170 + "kk",
    "128 emojis": "\U0001f600" * 128,
    "512 NULs": "\0" * 512,
}


def parametrize(table):
    return pytest.mark.parametrize("key", table.values(), ids=table.keys())


@parametrize(GOOD | LONGEST)
async def test_any_text_of_at_most_512_bytes_is_a_key(gateway, key):
    assert (await gateway.put(key, "here")).status == 200
    assert (await gateway.get(key)).json["value"] == "here"
    assert (await gateway.delete(key)).json == {"deleted": True}
    assert (await gateway.get(key)).json["found"] is False


@pytest.mark.parametrize("operation", OPERATIONS)
@parametrize(TOO_LONG | {"empty": ""})
async def test_an_empty_key_or_one_beyond_512_bytes_is_refused(gateway, operation, key):
    reply = await gateway.call(operation, {"key": key, "value": 1})
    assert (reply.status, reply.json) == (400, {"error": "invalid_key"})


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("key", [None, 1, 1.5, True, ["k"], {"k": 1}])
async def test_a_key_that_is_no_string_is_refused(gateway, operation, key):
    reply = await gateway.call(operation, {"key": key, "value": 1})
    assert (reply.status, reply.error) == (400, "invalid_key")


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_call_without_a_key_is_refused(gateway, operation):
    reply = await gateway.call(operation, {"value": 1})
    assert (reply.status, reply.error) == (400, "invalid_key")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "text", [rb"\ud800", rb"\udc00", rb"a\uDBFFb", rb"\udc00\ud800", rb"\ud800\ud800\udc00"]
)
async def test_a_lone_surrogate_in_a_key_is_refused(gateway, operation, text):
    reply = await gateway.call(operation, b'{"key":"' + text + b'","value":1}')
    assert (reply.status, reply.error) == (400, "invalid_key")


async def test_a_pair_of_surrogates_is_the_character_that_it_encodes(gateway):
    await gateway.call("put", rb'{"key":"\ud83d\ude00","value":"smile"}')
    assert (await gateway.call("get", '{"key":"\U0001f600"}'.encode())).json["value"] == "smile"


async def test_escapes_and_plain_letters_spell_the_same_key(gateway):
    await gateway.call("put", rb'{"key":"\u0061\/b","value":1}')
    assert (await gateway.call("get", b'{"key":"a/b"}')).json["found"] is True


async def test_the_length_of_a_key_is_that_of_its_text_and_not_of_its_escapes(gateway):
    body = b'{"key":"' + rb"\u0061" * 512 + b'","value":1}'
    assert (await gateway.call("put", body)).status == 200
    assert (await gateway.get("a" * 512)).json["found"] is True


@pytest.mark.parametrize(
    ("one", "other"),
    [("k", "K"), ("é", "e\u0301"), ("k", "k "), ("k", "k\0"), ("a/b", "a//b"), ("1", "01"), ("ss", "ß")],
)
async def test_keys_that_differ_in_any_byte_are_different(gateway, one, other):
    await gateway.put(one, "one")
    assert (await gateway.get(other)).json["found"] is False


async def test_a_key_is_never_read_as_a_pattern(gateway):
    await gateway.put("abc", 1)
    for pattern in ("*", "a*", "?bc", "[a]bc", "%"):
        assert (await gateway.get(pattern)).json["found"] is False


async def test_a_key_spelt_like_another_field_is_just_a_key(gateway):
    await gateway.put("ttlSeconds", "value")
    assert json.loads((await gateway.get("ttlSeconds")).body)["value"] == "value"
