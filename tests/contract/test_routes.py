"""Paths and methods that are routed."""

import pytest

from tests.support.wire import CLOSE, head, send_one, signed_call

OTHER_METHODS = ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "PURGE"]

UNKNOWN_PATHS = [
    "/",
    "/v1",
    "/v1/",
    "/put",
    "/v1/scan",
    "/v1/Get",
    "/V1/get",
    "/v2/get",
    "/v1/get/",
    "/v1/get/x",
    "/v1//get",
    "//v1/get",
    "/v1/./get",
    "/v1/../v1/get",
    "/v1%2Fget",
    "/v1/%67et",
    "/v1/get%00",
    "/v1/get%20",
    "/v1/get;x=1",
    "/v1/get.json",
    "/v1/get#part",
    "/livez",
    "/metrics",
    "/v1/credentials",
    "/v1/orgs/acme/apps",
]


@pytest.mark.parametrize("path", UNKNOWN_PATHS)
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_an_unknown_path_is_not_found_by_any_method(gateway, method, path):
    reply = await send_one(gateway, head(path, [("Host", "x"), CLOSE], method=method))
    assert (reply.status, reply.json) == (404, {"error": "not_found"})


@pytest.mark.parametrize("operation", ["put", "get", "delete"])
@pytest.mark.parametrize("method", OTHER_METHODS)
async def test_another_method_is_refused_and_post_is_named(gateway, method, operation):
    reply = await send_one(gateway, head(f"/v1/{operation}", [("Host", "x"), CLOSE], method=method))
    assert (reply.status, reply.json) == (405, {"error": "method_not_allowed"})
    assert reply.headers["allow"] == "POST"


async def test_head_is_refused_without_a_body(gateway):
    answer = await gateway.send_raw(head("/v1/get", [("Host", "x"), CLOSE], method="HEAD"))
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert b"\r\nContent-Type: application/json\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_the_route_is_judged_before_the_body(gateway):
    fields = [("Host", "x"), ("Content-Length", 10**9), CLOSE]
    assert (await send_one(gateway, head("/v1/scan", fields))).status == 404


async def test_a_query_does_not_change_the_route(gateway):
    reply = await send_one(gateway, head("/v1/get?x=/v1/put", [("Host", "x"), CLOSE]))
    assert reply.error == "missing_signature"


async def test_a_method_override_is_ignored(gateway):
    extra = [("X-HTTP-Method-Override", "DELETE"), CLOSE]
    reply = await send_one(gateway, signed_call(gateway, "get", b'{"key":"k"}', extra=extra))
    assert "found" in reply.json
