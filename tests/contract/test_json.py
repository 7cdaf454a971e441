"""Bodies that are JSON objects, and the members that count."""

from time import thread_time

import pytest

NOT_JSON = {
    "nothing": b"",
    "white space": b" \n",
    "half an object": b'{"key":"k"',
    "half a string": b'{"key":"k',
    "no colon": b'{"key" "k"}',
    "no name": b'{:"k"}',
    "a name without quotes": b'{key:"k"}',
    "single quotes": b"{'key':'k'}",
    "a trailing comma": b'{"key":"k",}',
    "a leading comma": b'{,"key":"k"}',
    "a trailing comma in an array": b'{"key":"k","value":[1,]}',
    "a comment": b'{"key":"k"/* */}',
    "two objects": b'{"key":"k"}{"key":"k"}',
    "a NUL after the object": b'{"key":"k"}\0',
    "text after the object": b'{"key":"k"} x',
    "a byte order mark": b'\xef\xbb\xbf{"key":"k"}',
    "UTF-16": '{"key":"k"}'.encode("utf-16-le"),
    "a byte that is not UTF-8": b'{"key":"\xff"}',
    "an overlong slash": b'{"key":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"key":"\xed\xa0\x80"}',
    "a character beyond Unicode": b'{"key":"\xf4\x90\x80\x80"}',
    "half a character": b'{"key":"\xc3"}',
    "bytes that are not UTF-8 in a field nobody reads": b'{"key":"k","x":"\xff"}',
    "bytes that are not UTF-8 in a name nobody reads": b'{"key":"k","\xff":1}',
    "bytes that are not UTF-8 in the value": b'{"key":"k","value":"\xff"}',
    "a newline in a string": b'{"key":"a\nb"}',
    "a NUL in a string": b'{"key":"a\0b"}',
    "a tab in a string nobody reads": b'{"key":"k","x":"a\tb"}',
    "a control in a name nobody reads": b'{"key":"k","a\x1fb":1}',
    "a newline in the value": b'{"key":"k","value":"a\nb"}',
    "an unknown escape": rb'{"key":"\x41"}',
    "an unknown escape in a field nobody reads": rb'{"key":"k","x":"\a"}',
    "an unknown escape in the value": rb'{"key":"k","value":"\'"}',
    "half an escape": rb'{"key":"\u12"}',
    "half an escape in the value": rb'{"key":"k","value":"\u12"}',
    "an escape of no hexadecimal digits": rb'{"key":"k","value":"\uzzzz"}',
    "half an escape beside a lone surrogate": rb'{"key":"k","value":"\ud800\u12"}',
    "a lone surrogate outside of a string": rb'{"key":"k","value":\ud800}',
    "NaN": b'{"key":"k","value":NaN}',
    "Infinity": b'{"key":"k","value":Infinity}',
    "minus Infinity": b'{"key":"k","value":-Infinity}',
    "NaN in a field nobody reads": b'{"key":"k","x":NaN}',
    "NaN deep in a value": b'{"key":"k","value":[{"a":NaN}]}',
    "a leading zero": b'{"key":"k","value":01}',
    "a leading plus": b'{"key":"k","value":+1}',
    "a leading point": b'{"key":"k","value":.5}',
    "a trailing point": b'{"key":"k","value":1.}',
    "an exponent without digits": b'{"key":"k","value":1e}',
    "a minus alone": b'{"key":"k","value":-}',
    "a leading zero in a field nobody reads": b'{"key":"k","x":00}',
    "capitals": b'{"key":"k","value":True}',
    "undefined": b'{"key":"k","value":undefined}',
    "a closed array that was not opened": b'{"key":"k","value":]}',
    "the wrong bracket": b'{"key":"k","value":[1}}',
    "white space that is none of JSON's": '{"key":\u00a0"k"}'.encode(),
    "a vertical tab": b'{"key":\x0b"k"}',
    "form data": b"key=k",
}

NO_OBJECT = {
    "null": b"null",
    "true": b"true",
    "a number": b"1",
    "a string": b'"key"',
    "an array": b'["key"]',
    "an array of objects": b'[{"key":"k"}]',
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
async def test_malformed_json_is_refused(gateway, body):
    reply = await gateway.call("put", body)
    assert (reply.status, reply.json) == (400, {"error": "invalid_json"})


@pytest.mark.parametrize("body", NO_OBJECT.values(), ids=NO_OBJECT.keys())
async def test_json_that_is_no_object_is_refused(gateway, body):
    reply = await gateway.call("put", body)
    assert (reply.status, reply.json) == (400, {"error": "invalid_json"})


@pytest.mark.parametrize("operation", ["get", "delete", "list", "increment", "touch", "batch"])
@pytest.mark.parametrize("body", [b"", b"[]", b'{"key":"k"', b'{"key":"k","value":NaN}', b'{"key":"\xff"}'])
async def test_operations_without_a_value_are_no_less_strict(gateway, operation, body):
    reply = await gateway.call(operation, body)
    assert (reply.status, reply.json) == (400, {"error": "invalid_json"})


async def test_white_space_around_the_object_does_not_matter(gateway):
    assert (await gateway.call("get", b' \t\r\n{ "key" : "k" } \t\r\n')).status == 200


@pytest.mark.parametrize(
    "field", [b'"x":1', b'"KEY":1', b'"Key":1', b'"":[]', b'"ttl_seconds":1', b'"ttl":1']
)
async def test_unknown_fields_are_ignored(gateway, field):
    assert (await gateway.call("put", b'{"key":"k","value":1,' + field + b"}")).status == 200


async def test_the_last_of_repeated_keys_counts(gateway):
    await gateway.call("put", b'{"key":"first","value":1,"key":"last"}')
    assert (await gateway.get("first")).json["found"] is False
    assert (await gateway.get("last")).json["found"] is True


async def test_the_last_of_repeated_values_counts(gateway):
    await gateway.call("put", b'{"key":"k","value":1,"value":2}')
    assert (await gateway.get("k")).json["value"] == 2


async def test_the_last_of_repeated_ttls_counts(gateway):
    assert (await gateway.call("put", b'{"key":"k","value":1,"ttlSeconds":1,"ttlSeconds":60}')).status == 200
    reply = await gateway.call("put", b'{"key":"k","value":1,"ttlSeconds":60,"ttlSeconds":1}')
    assert reply.error == "invalid_ttl"


async def test_an_invalid_field_that_is_repeated_validly_does_not_count(gateway):
    assert (await gateway.call("get", b'{"key":1,"key":"k"}')).status == 200


async def test_a_name_written_with_escapes_is_the_same_name(gateway):
    assert (await gateway.call("get", rb'{"\u006bey":"k"}')).status == 200


async def test_a_lone_surrogate_in_a_field_nobody_reads_is_ignored(gateway):
    assert (await gateway.call("get", rb'{"key":"k","x":"\ud800","\udc00":1}')).status == 200


@pytest.mark.parametrize("fill", [b"x", b"0", b"f"])
async def test_look_alikes_of_the_stand_in_for_a_lone_surrogate_cost_no_time(gateway, fill):
    body = b'{"key":"k","value":"' + rb"\ud800" + b'","x":"lone' + fill * 120_000 + b'"}'
    began = thread_time()
    assert (await gateway.call("put", body)).status == 200
    assert thread_time() - began < 0.5
