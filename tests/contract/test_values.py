"""Values come back byte for byte (D3)."""

import pytest

AS_SENT = {
    "null": b"null",
    "true": b"true",
    "false": b"false",
    "zero": b"0",
    "minus zero": b"-0",
    "an exponent": b"6e1",
    "an exponent in capitals": b"1E+05",
    "trailing zeros": b"1.500",
    "a float that is an integer": b"60.0",
    "more digits than a double has": b"0.1000000000000000055511151231257827",
    "a big integer": b"123456789012345678901234567890",
    "an integer of 5,000 digits": b"9" * 5000,
    "an exponent beyond a double": b"1e400",
    "an exponent below a double": b"1e-400",
    "an empty string": b'""',
    "an empty object": b"{}",
    "an empty array": b"[]",
    "white space inside": b'{ "a" :\t[ 1 ,\r\n2 ] }',
    "order of names": b'{"b":1,"a":2}',
    "repeated names": b'{"a":1,"a":2}',
    "an empty name": b'{"":1}',
    "plain text": '"é€\U0001f600"'.encode(),
    "escaped text": rb'"\u00e9\u20AC\ud83d\uDE00\/\b\f\n\r\t\"\\"',
    "an escaped NUL": rb'"\u0000"',
    "a lone high surrogate": rb'"\ud800"',
    "a lone low surrogate": rb'"\udFFF"',
    "surrogates in the wrong order": rb'"\udc00\ud800"',
    "a high surrogate before a pair": rb'"\ud800\ud83d\ude00"',
    "a lone surrogate as a name": rb'{"\uD800":"\ud800"}',
    "an escaped backslash before u": rb'"\\ud800"',
    "three backslashes before a surrogate": rb'"\\\ud800"',
    "a lone surrogate among look-alikes": rb'["\ud800","loned800","lonexd800","\\ud800"]',
    "a noncharacter": '"\uffff"'.encode(),
    "a byte order mark in a string": '"\ufeff"'.encode(),
    "line separators": '"\u2028\u2029"'.encode(),
    "DEL": b'"\x7f"',
    "500 nested arrays": b"[" * 500 + b"]" * 500,
    "500 nested objects": b'{"a":' * 500 + b"1" + b"}" * 500,
    "a lone surrogate below 400 arrays": b"[" * 400 + rb'"\ud800"' + b"]" * 400,
    "a value like an answer": b'{"found":false,"expiresAt":null}',
    "100 NaNs in a string": b'"' + b"NaN " * 100 + b'"',
}


def put_body(value: bytes) -> bytes:
    return b'{"key":"k","value":' + value + b"}"


@pytest.mark.parametrize("value", AS_SENT.values(), ids=AS_SENT.keys())
async def test_a_value_comes_back_as_it_was_sent(gateway, value):
    assert (await gateway.call("put", put_body(value))).status == 200
    reply = await gateway.get("k")
    assert reply.body == b'{"found":true,"value":' + value + b',"expiresAt":null}'


@pytest.mark.parametrize("fill", [b"x", "é".encode(), "\U0001f600".encode(), rb"\n"])
async def test_a_value_of_64_kib_as_sent_is_accepted(gateway, fill):
    text = fill * (65_534 // len(fill))
    value = b'"' + b"x" * (65_534 - len(text)) + text + b'"'
    assert len(value) == 65_536
    assert (await gateway.call("put", put_body(value))).status == 200
    assert value in (await gateway.get("k")).body


@pytest.mark.parametrize(
    "value",
    [
        b'"' + b"x" * 65_535 + b'"',
        b"1" * 65_537,
        b"[" + b" " * 65_535 + b"]",
        b'"' + rb"\u0061" * 10_922 + b'xxx"',
        b'"' + rb"\ud800" * 10_922 + b'xxx"',
    ],
    ids=["text", "digits", "white space", "escapes", "lone surrogates"],
)
async def test_a_value_of_one_byte_more_is_refused(gateway, value):
    assert len(value) == 65_537
    reply = await gateway.call("put", put_body(value))
    assert (reply.status, reply.json) == (400, {"error": "invalid_value"})


async def test_lone_surrogates_are_measured_as_they_were_sent(gateway):
    value = b'"' + rb"\ud800" * 10_922 + b'xx"'
    assert len(value) == 65_536
    assert (await gateway.call("put", put_body(value))).status == 200
    assert value in (await gateway.get("k")).body


async def test_white_space_around_a_value_is_not_part_of_it(gateway):
    body = b'{"key":"k","value": \t\r\n' + b'"' + b"x" * 65_534 + b'"' + b" \n}"
    assert (await gateway.call("put", body)).status == 200


async def test_a_put_without_a_value_is_refused(gateway):
    reply = await gateway.call("put", {"key": "k"})
    assert (reply.status, reply.json) == (400, {"error": "invalid_value"})


@pytest.mark.parametrize("operation", ["get", "delete"])
async def test_a_value_in_a_get_or_delete_is_ignored(gateway, operation):
    assert (await gateway.call(operation, {"key": "k", "value": "x" * 70_000})).status == 200


async def test_ten_thousand_nested_arrays_are_refused_and_do_no_harm(gateway):
    reply = await gateway.call("put", put_body(b"[" * 10_000 + b"]" * 10_000))
    assert (reply.status, reply.error) == (400, "invalid_json")
    assert (await gateway.put("k", 1)).status == 200
