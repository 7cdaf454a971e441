"""Any input gives 4xx in JSON, never 5xx, and harms no other client."""

import asyncio
import gzip
import json
import logging
from time import thread_time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.config import TABLE_TOKEN
from tests.support.gateway import run_gateway
from tests.support.wire import CLOSE, head, parse_replies, send_one, signed_call, signed_fields

pytestmark = pytest.mark.virtual_time

FUZZED = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
GOOD_BODY = b'{"key":"k","value":1}'


@pytest.fixture
async def gateway():
    """A gateway with short deadlines and practically no rate limit."""
    patience = dict.fromkeys(("head_seconds", "body_seconds", "idle_seconds", "write_seconds"), 0.05)
    changes = {"edge": patience, "rate_limit": {"requests_per_minute": 1_000_000_000}}
    async with run_gateway(changes) as running:
        yield running


async def assert_harmless(gateway, caplog, attacks: list[bytes]) -> None:
    """Sends attacks, each refused in JSON or not answered, then a good call. No fault is logged."""
    answers = await asyncio.gather(*(gateway.send_raw(attack) for attack in attacks))
    for answer in answers:
        for reply in parse_replies(answer.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")):
            assert 200 <= reply.status < 500
            assert reply.headers["content-type"] == "application/json"
            assert isinstance(reply.json, dict)
    assert (await send_one(gateway, signed_call(gateway, "put", GOOD_BODY))).status == 200
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert "Traceback" not in caplog.text


batches = st.lists(st.binary(max_size=300), min_size=10, max_size=25)


@given(attacks=batches)
@FUZZED
async def test_any_bytes_as_a_connection(gateway, caplog, attacks):
    await assert_harmless(gateway, caplog, attacks)


@given(attacks=st.lists(st.binary(max_size=200), min_size=10, max_size=25))
@FUZZED
async def test_any_bytes_as_a_signed_body(gateway, caplog, attacks):
    calls = [
        signed_call(gateway, ("put", "get", "delete")[number % 3], body, in_chunks=number % 2 == 0)
        for number, body in enumerate(attacks)
    ]
    await assert_harmless(gateway, caplog, calls)


@given(attacks=st.lists(st.binary(max_size=60), min_size=10, max_size=25))
@FUZZED
async def test_any_bytes_as_a_target(gateway, caplog, attacks):
    calls = [
        head(prefix + target, [("Host", "x"), CLOSE])
        for target in attacks
        for prefix in (b"", b"/", b"/v1/get?", b"http://")
    ]
    await assert_harmless(gateway, caplog, calls)


NAMES = [
    "Authorization",
    "X-KVS-Authorization",
    "X-Amz-Date",
    "X-Amz-Security-Token",
    "X-Amz-Content-Sha256",
    "Date",
    "Host",
    "Content-Type",
    "Content-Encoding",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Expect",
    "Upgrade",
    "x-request-id",
    "Trailer",
]
VALUES = [
    b"AWS4-HMAC-SHA256 ",
    b"AWS4-HMAC-SHA256 Credential=/////, SignedHeaders=;, Signature=",
    b"Bearer ",
    b"keep-alive, close",
    b"websocket",
    b"100-continue",
    b"chunked",
    b"18446744073709551615",
    b"20261120T000000Z",
    b"\xff",
]
field_values = st.binary(max_size=40) | st.sampled_from(VALUES)


@given(attacks=st.lists(st.tuples(st.sampled_from(NAMES), field_values), min_size=10, max_size=25))
@FUZZED
async def test_any_bytes_as_a_field_in_place_of_the_good_one(gateway, caplog, attacks):
    calls = []
    for name, value in attacks:
        fields = [*signed_fields(gateway, GOOD_BODY, "/v1/put"), ("Content-Length", len(GOOD_BODY)), CLOSE]
        kept = [field for field in fields if field[0].lower() != name.lower()]
        calls.append(head("/v1/put", [*kept, (name, value)]) + GOOD_BODY)
    await assert_harmless(gateway, caplog, calls)


@given(attacks=st.lists(st.tuples(st.sampled_from(NAMES), field_values), min_size=10, max_size=25))
@FUZZED
async def test_any_bytes_as_a_field_beside_the_good_one(gateway, caplog, attacks):
    calls = [signed_call(gateway, "put", GOOD_BODY, extra=[field, CLOSE]) for field in attacks]
    await assert_harmless(gateway, caplog, calls)


@given(
    mutations=st.lists(
        st.tuples(st.integers(0, 800), st.integers(0, 5), st.binary(max_size=4)), min_size=10, max_size=25
    ),
    in_chunks=st.booleans(),
)
@FUZZED
async def test_a_good_call_with_some_of_its_bytes_replaced(gateway, caplog, mutations, in_chunks):
    call = signed_call(gateway, "put", GOOD_BODY, in_chunks=in_chunks)
    attacks = [call[:at] + other + call[at + removed :] for at, removed, other in mutations]
    await assert_harmless(gateway, caplog, attacks)


@given(cuts=st.lists(st.integers(0, 700), min_size=10, max_size=25))
@FUZZED
async def test_a_good_call_that_ends_anywhere(gateway, caplog, cuts):
    call = signed_call(gateway, "put", GOOD_BODY, extra=[("Expect", "100-continue"), CLOSE])
    await assert_harmless(gateway, caplog, [call[:cut] for cut in cuts])


def put(value: bytes) -> bytes:
    return b'{"key":"k","value":' + value + b"}"


BOMBS = {
    "10,000 open arrays": put(b"[" * 10_000),
    "10,000 closed arrays": put(b"[" * 10_000 + b"]" * 10_000),
    "10,000 objects": put(b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    "131,000 open arrays": b"[" * 131_000,
    "10,000 arrays in a field nobody reads": b'{"key":"k","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "a number of 1 MB": put(b"9" * 1_000_000),
    "a number of 100 KB": put(b"9" * 100_000),
    "a number of 60 KB": put(b"9" * 60_000),
    "a fraction of 60 KB": put(b"0." + b"9" * 60_000),
    "an exponent of 60 KB": put(b"1e" + b"9" * 60_000),
    "a time to live of 100 KB": b'{"key":"k","value":1,"ttlSeconds":' + b"6" * 100_000 + b"}",
    "a key of 100 KB": b'{"key":"' + b"k" * 100_000 + b'"}',
    "a key of 20,000 escapes": b'{"key":"' + rb"\u0000" * 20_000 + b'"}',
    "a key of 20,000 lone surrogates": b'{"key":"' + rb"\ud800" * 20_000 + b'"}',
    "a value of 20,000 lone surrogates": put(b'"' + rb"\ud800" * 20_000 + b'"'),
    "60,000 backslashes": put(b'"' + b"\\" * 60_000 + b'"'),
    "an open string of 60,000 backslashes": put(b'"' + b"\\" * 60_001),
    "8,000 repeated keys": b"{" + b'"key":"k",' * 8_000 + b'"key":"k","value":1}',
    "10,000 fields": b"{" + b",".join(b'"%d":1' % number for number in range(10_000)) + b"}",
    "white space": b'{"key":' + b" " * 130_000 + b'"k"}',
    "NULs": b"\0" * 131_000,
    "a gzip of 100 MB": gzip.compress(b" " * 100_000_000),
    "look-alikes of hidden letters": put(rb'"\ud800' + b"lone" * 15_000 + b'"'),
}


@pytest.mark.parametrize("body", BOMBS.values(), ids=BOMBS.keys())
async def test_a_bomb_is_defused_without_delay(gateway, caplog, body):
    call = signed_call(gateway, "put", body)
    began = thread_time()
    reply = await send_one(gateway, call)
    assert thread_time() - began < 0.25
    assert reply.status in {200, 400, 413}
    await assert_harmless(gateway, caplog, [])


async def test_a_compressed_bomb_is_never_unpacked(gateway):
    bomb = gzip.compress(b" " * 50_000_000)
    reply = await send_one(
        gateway, signed_call(gateway, "put", bomb[:100_000], extra=[("Content-Encoding", "gzip"), CLOSE])
    )
    assert (reply.status, reply.error) == (400, "invalid_content_type")


@given(
    operations=st.lists(
        st.tuples(
            st.sampled_from(["put", "get", "delete"]),
            st.sampled_from(["a", "b", "é", "\0"]),
            st.integers() | st.text(max_size=5),
        ),
        max_size=20,
    )
)
@settings(FUZZED, max_examples=8)
async def test_a_table_behaves_like_a_dictionary(gateway, operations):
    expected: dict[str, object] = {}
    for key in ("a", "b", "é", "\0"):
        await ask(gateway, "delete", {"key": key})
    for operation, key, value in operations:
        answer = await ask(gateway, operation, {"key": key, "value": value})
        if operation == "put":
            expected[key] = value
        elif operation == "delete":
            expected.pop(key, None)
        else:
            assert answer["found"] is (key in expected)
            assert answer.get("value") == expected.get(key)


async def ask(gateway, operation: str, body: object):
    call = signed_call(gateway, operation, json.dumps(body).encode(), token=TABLE_TOKEN)
    return (await send_one(gateway, call)).json
