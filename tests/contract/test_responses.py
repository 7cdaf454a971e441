"""Fields of every response, and the form of every error."""

import re

import pytest

from tests.support.wire import CLOSE, head, send_one, signed_call

BODY = b'{"key":"k","value":1}'
REFUSED = {
    "not found": head("/", [("Host", "x"), CLOSE]),
    "wrong method": head("/v1/get", [("Host", "x"), CLOSE], method="GET"),
    "too large": head("/v1/put", [("Host", "x"), ("Content-Length", 200_000), CLOSE]),
    "not signed": head("/v1/get", [("Host", "x"), CLOSE]),
    "no HTTP": b"hello\r\n\r\n",
    "no host": head("/v1/get", []),
}


async def ask(gateway, extra=(), body=BODY, operation="put"):
    return await send_one(gateway, signed_call(gateway, operation, body, extra=[*extra, CLOSE]))


@pytest.mark.parametrize("operation", ["put", "get", "delete"])
@pytest.mark.parametrize("body", [BODY, b"{"], ids=["good", "bad"])
async def test_every_answer_to_a_call_is_json_and_has_an_id(gateway, operation, body):
    reply = await ask(gateway, body=body, operation=operation)
    assert reply.headers["content-type"] == "application/json"
    assert re.fullmatch("[!-~]{1,128}", reply.headers["x-request-id"])
    assert isinstance(reply.json, dict)


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
async def test_every_refusal_is_json_and_has_an_id(gateway, data):
    reply = await send_one(gateway, data)
    assert reply.headers["content-type"] == "application/json"
    assert re.fullmatch("[!-~]{1,128}", reply.headers["x-request-id"])
    assert set(reply.json) <= {"error", "message"}
    assert re.fullmatch("[a-z_]+", reply.error)


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
async def test_only_the_first_layer_adds_a_message_and_an_error_type(gateway, data):
    reply = await send_one(gateway, data)
    is_layer_one = reply.status == 403
    assert ("message" in reply.json) is is_layer_one
    assert ("x-amzn-errortype" in reply.headers) is is_layer_one


@pytest.mark.parametrize("own", ["a", "!", "~", "0b5cf6a8-trace/1:2", "x" * 128, '"quoted"'])
async def test_a_clients_own_id_is_kept(gateway, own):
    assert (await ask(gateway, [("x-request-id", own)])).headers["x-request-id"] == own


async def test_a_clients_own_id_is_kept_in_refusals(gateway):
    data = head("/nowhere", [("Host", "x"), ("X-Request-Id", "mine"), CLOSE])
    assert (await send_one(gateway, data)).headers["x-request-id"] == "mine"


@pytest.mark.parametrize("own", ["", "x" * 129, "two words", "é", "tab\tbed", b"\xff", "a\x7f"])
async def test_an_id_that_is_not_1_to_128_visible_ascii_characters_is_replaced(gateway, own):
    answered = (await ask(gateway, [("x-request-id", own)])).headers["x-request-id"]
    assert answered.encode() != (own if isinstance(own, bytes) else own.encode())
    assert re.fullmatch("[!-~]{1,128}", answered)


async def test_an_id_that_is_sent_twice_is_replaced(gateway):
    reply = await ask(gateway, [("x-request-id", "one"), ("x-request-id", "two")])
    assert "one" not in reply.headers["x-request-id"]


async def test_ids_that_the_gateway_makes_are_all_different(gateway):
    ids = {(await ask(gateway)).headers["x-request-id"] for _ in range(20)}
    assert len(ids) == 20


async def test_an_answer_names_its_date_and_length(gateway):
    reply = await ask(gateway)
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", reply.headers["date"])
    assert int(reply.headers["content-length"]) == len(reply.body)


async def test_an_answer_does_not_say_what_serves_it(gateway):
    assert "server" not in (await ask(gateway)).headers


async def test_an_answer_sets_no_cookie_and_allows_no_browser(gateway):
    reply = await ask(gateway, [("Origin", "https://example.test"), ("Cookie", "a=b")])
    assert not [name for name in reply.headers if name.startswith(("set-cookie", "access-control"))]


async def test_a_generated_id_reveals_nothing_about_other_requests(gateway):
    first, second = [(await ask(gateway)).headers["x-request-id"] for _ in range(2)]
    assert abs(int(first, 16) - int(second, 16)) > 2**32
