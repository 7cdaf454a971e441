"""Batches as sent: order of checks, members that count, and what is ignored."""

import json

import pytest

GET = '{"op":"get","key":"k"}'


async def send(gateway, *operations: str):
    return await gateway.call("batch", f'{{"operations":[{",".join(operations)}]}}'.encode())


@pytest.mark.parametrize(
    ("operations", "code", "index"),
    [
        (['{"op":"get","key":""}', "1"], "invalid_key", "[0].key"),
        (["1", '{"op":"get","key":""}'], "invalid_operations", "[0]"),
        ([GET, '{"op":"scan","key":""}'], "invalid_operations", "[1].op"),
        (['{"op":"put","key":"","ttlSeconds":1}'], "invalid_key", "[0].key"),
        (['{"op":"put","key":"k","ttlSeconds":1}'], "invalid_value", "[0].value"),
        (['{"op":"put","key":"k","value":1,"ttlSeconds":1,"ifMatch":1}'], "invalid_ttl", "[0].ttlSeconds"),
        (['{"op":"put","key":"k","value":1,"ifMatch":null}'], "invalid_precondition", "[0].ifMatch"),
        (['{"op":"get","key":"k","ifNoneMatch":"*"}'], "invalid_precondition", "[0].ifNoneMatch"),
        (['{"op":"delete","key":"k","ifNoneMatch":"*"}'], "invalid_precondition", "[0].ifNoneMatch"),
        ([GET] * 24 + ['{"op":"get","key":"k","ifMatch":"*"}'], "invalid_precondition", "[24].ifMatch"),
        ([r'{"op":"\ud800","key":"k"}'], "invalid_operations", "[0].op"),
        ([r'{"op":"put","key":"k","value":1,"ifMatch":"\ud800"}'], "invalid_precondition", "[0].ifMatch"),
    ],
)
async def test_the_first_malformed_operation_refuses_the_batch(gateway, operations, code, index):
    reply = await send(gateway, *operations)
    assert (reply.status, reply.json) == (400, {"error": code})
    assert reply.headers["x-kvs-error-detail"].startswith(f"operations{index}: ")


async def test_a_batch_with_a_malformed_operation_does_nothing(gateway):
    put = '{"op":"put","key":"k","value":1}'
    assert (await send(gateway, put, '{"op":"get","key":""}')).error == "invalid_key"
    assert (await gateway.get("k")).json["found"] is False


@pytest.mark.parametrize("sent", ["null", "{}", "1", '"[]"', "[]", "[[]]", "[null]", f"[{GET},[{GET}]]"])
async def test_anything_but_a_list_of_objects_is_refused(gateway, sent):
    reply = await gateway.call("batch", b'{"operations":' + sent.encode() + b"}")
    assert (reply.status, reply.json) == (400, {"error": "invalid_operations"})


async def test_a_batch_has_25_operations_at_most(gateway):
    assert len((await send(gateway, *[GET] * 25)).json["results"]) == 25
    assert (await send(gateway, *[GET] * 26)).error == "invalid_operations"


async def test_the_last_of_repeated_names_counts(gateway):
    reply = await send(gateway, '{"op":"scan","key":1,"op":"put","key":"k","value":1,"value":2}')
    assert reply.json["results"][0]["ok"] is True
    assert (await gateway.get("k")).json["value"] == 2
    body = f'{{"operations":1,"operations":[{GET}]}}'.encode()
    assert (await gateway.call("batch", body)).json["results"][0]["value"] == 2


async def test_values_come_back_byte_for_byte(gateway):
    value = rb'[1.500, {"b":1,"a":"\ud800"},123456789012345678901234567890]'
    reply = await send(gateway, r'{"op":"p\u0075t","key":"k","value":' + value.decode() + "}", GET)
    tag = json.dumps(reply.json["results"][0]["etag"]).encode()
    found = b'{"found":true,"value":' + value + b',"expiresAt":null,"etag":' + tag + b"}"
    assert reply.body == b'{"results":[{"ok":true,"etag":' + tag + b"}," + found + b"]}"
    assert (await gateway.get("k")).headers["ETag"] == json.loads(tag)


async def test_unknown_fields_are_ignored_and_named(gateway):
    operations = ['{"op":"get","key":"k","value":1,"ttlSeconds":"x"}', '{"op":"delete","key":"k","ttl":1}']
    body = f'{{"operations":[{",".join(operations)}],"table":1}}'.encode()
    reply = await gateway.call("batch", body)
    assert reply.json == {"results": [{"found": False, "expiresAt": None}, {"deleted": True}]}
    assert reply.headers["x-kvs-warning"] == (
        'unknown field "table"; operations[0]: unknown field "value"; unknown field "ttlSeconds"; '
        'operations[1]: unknown field "ttl": did you mean "ttlSeconds"?'
    )


async def test_results_are_what_each_operation_alone_would_answer(gateway):
    await gateway.put("there", 1, ttl_seconds=60)
    tag = (await gateway.get("there")).headers["ETag"]
    results = (
        await send(
            gateway,
            '{"op":"put","key":"there","value":2,"ifNoneMatch":"*"}',
            json.dumps({"op": "put", "key": "there", "value": 2, "ifMatch": tag}),
            json.dumps({"op": "delete", "key": "there", "ifMatch": tag}),
            '{"op":"delete","key":"there","ifMatch":"*"}',
            GET,
        )
    ).json["results"]
    assert results[0] == results[2] == {"error": "precondition_failed"}
    assert results[1].keys() == {"ok", "etag"}
    assert results[3:] == [{"deleted": True}, {"found": False, "expiresAt": None}]
