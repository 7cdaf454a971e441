"""The forms in which a table token is sent."""

import pytest

from tests.support.config import OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import run_gateway
from tests.support.wire import CLOSE, send_one, signed_call

BODY = b'{"key":"k"}'


async def call_with(gateway, *values: str):
    extra = [*(("X-KVS-Authorization", value) for value in values), CLOSE]
    return await send_one(gateway, signed_call(gateway, "get", BODY, token=None, extra=extra))


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
async def test_the_scheme_may_be_written_in_any_case(gateway, scheme):
    assert (await call_with(gateway, f"{scheme} {TABLE_TOKEN}")).status == 200


async def test_white_space_around_the_token_does_not_matter(gateway):
    assert (await call_with(gateway, f"  Bearer   {TABLE_TOKEN}  ")).status == 200


@pytest.mark.parametrize("name", ["x-kvs-authorization", "X-KVS-AUTHORIZATION", "x-Kvs-authorization"])
async def test_the_header_may_be_written_in_any_case(gateway, name):
    extra = [(name, f"Bearer {TABLE_TOKEN}"), CLOSE]
    assert (await send_one(gateway, signed_call(gateway, "get", BODY, token=None, extra=extra))).status == 200


async def test_a_missing_token_has_another_code_than_a_wrong_one(gateway):
    reply = await call_with(gateway)
    assert (reply.status, reply.json) == (401, {"error": "missing_token"})


@pytest.mark.parametrize(
    "value",
    [
        "Bearer wrong",
        "Bearer",
        "Bearer ",
        TABLE_TOKEN,
        f"Basic {TABLE_TOKEN}",
        f"Token {TABLE_TOKEN}",
        f"Bearer{TABLE_TOKEN}",
        f"Bearer: {TABLE_TOKEN}",
        f"Bearer {TABLE_TOKEN}x",
        f"Bearer {TABLE_TOKEN[:-1]}",
        f"Bearer {TABLE_TOKEN.upper()}",
        f"Bearer {TABLE_TOKEN}, Bearer {TABLE_TOKEN}",
        f"Bearer {TABLE_TOKEN} {TABLE_TOKEN}",
        f'Bearer "{TABLE_TOKEN}"',
        "Bearer kvs_" + "A" * 50,
        "Bearer " + "x" * 8000,
        "Bearer *",
        "Bearer é",
    ],
)
async def test_anything_but_a_known_bearer_token_is_invalid(gateway, value):
    reply = await call_with(gateway, value)
    assert (reply.status, reply.json) == (401, {"error": "invalid_token"})


@pytest.mark.parametrize("second", [TABLE_TOKEN, OTHER_TABLE_TOKEN, "wrong"])
async def test_a_repeated_header_is_invalid_even_if_both_are_the_same(gateway, second):
    reply = await call_with(gateway, f"Bearer {TABLE_TOKEN}", f"Bearer {second}")
    assert (reply.status, reply.json) == (401, {"error": "invalid_token"})


@pytest.mark.parametrize("first", ["", "Bearer "])
async def test_a_repeated_header_is_invalid_even_if_one_is_empty(gateway, first):
    reply = await call_with(gateway, first, f"Bearer {TABLE_TOKEN}")
    assert (reply.status, reply.json) == (401, {"error": "invalid_token"})


async def test_a_token_in_the_signatures_header_is_no_signature(gateway):
    reply = await gateway.call("get", BODY, signer=None, headers={"Authorization": f"Bearer {TABLE_TOKEN}"})
    assert reply.status == 403


async def test_a_token_in_the_query_is_not_looked_at(gateway):
    reply = await gateway.call("get", BODY, token=None, path=f"/v1/get?token={TABLE_TOKEN}")
    assert reply.error == "missing_token"


@pytest.fixture
async def open_gateway():
    """A gateway whose first layer is off."""
    async with run_gateway({"signature": {"mode": "off"}}) as running:
        yield running


async def test_without_layer_one_the_token_may_be_sent_in_authorization(open_gateway):
    headers = {"Authorization": f"Bearer {TABLE_TOKEN}"}
    assert (await open_gateway.call("get", BODY, token=None, signer=None, headers=headers)).status == 200


async def test_without_layer_one_the_tables_own_header_still_works(open_gateway):
    assert (await open_gateway.call("get", BODY, signer=None)).status == 200


async def test_without_layer_one_a_signed_call_still_works(open_gateway):
    assert (await open_gateway.call("get", BODY)).status == 200


async def test_without_layer_one_the_token_is_still_needed(open_gateway):
    reply = await open_gateway.call("get", BODY, token=None, signer=None)
    assert (reply.status, reply.error) == (401, "missing_token")


async def test_without_layer_one_a_wrong_token_is_still_refused(open_gateway):
    headers = {"Authorization": "Bearer wrong"}
    reply = await open_gateway.call("get", BODY, token=None, signer=None, headers=headers)
    assert (reply.status, reply.error) == (401, "invalid_token")
