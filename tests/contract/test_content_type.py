"""The media type and coding of a body."""

import pytest

from gateway.domain.model import Operation
from tests.support.wire import CLOSE, send_one, signed_call

BODY = b'{"key":"k"}'


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/json ; charset=utf-8",
        'application/json; profile="https://example.test/a;b"',
        "application/json;",
        "  application/json  ",
    ],
)
async def test_application_json_in_any_case_and_with_any_parameters_is_accepted(gateway, content_type):
    data = signed_call(gateway, "get", BODY, content_type=None, extra=[("Content-Type", content_type), CLOSE])
    assert (await send_one(gateway, data)).status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/json5",
        "application/x-json",
        "application/problem+json",
        "application/*",
        "*/*",
        "json",
        "application / json",
        "application/json, application/json",
        "application/json charset=utf-8",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ],
)
async def test_any_other_media_type_is_refused(gateway, content_type):
    data = signed_call(gateway, "get", BODY, content_type=None, extra=[("Content-Type", content_type), CLOSE])
    reply = await send_one(gateway, data)
    assert (reply.status, reply.json) == (400, {"error": "invalid_content_type"})


@pytest.mark.parametrize("operation", list(Operation))
async def test_a_missing_media_type_is_refused(gateway, operation):
    reply = await send_one(gateway, signed_call(gateway, operation, BODY, content_type=None))
    assert (reply.status, reply.error) == (400, "invalid_content_type")


async def test_a_repeated_media_type_is_refused(gateway):
    data = signed_call(gateway, "get", BODY, extra=[("Content-Type", "application/json"), CLOSE])
    reply = await send_one(gateway, data)
    assert (reply.status, reply.error) in {(400, "bad_request"), (400, "invalid_content_type")}


@pytest.mark.parametrize(
    "coding", ["gzip", "deflate", "br", "zstd", "x-gzip", "identity, gzip", "unknown", ""]
)
async def test_a_coding_other_than_identity_is_refused(gateway, coding):
    data = signed_call(gateway, "get", BODY, extra=[("Content-Encoding", coding), CLOSE])
    reply = await send_one(gateway, data)
    assert (reply.status, reply.json) == (400, {"error": "invalid_content_type"})


@pytest.mark.parametrize("coding", ["identity", "Identity", "IDENTITY"])
async def test_the_identity_coding_is_accepted(gateway, coding):
    data = signed_call(gateway, "get", BODY, extra=[("Content-Encoding", coding), CLOSE])
    assert (await send_one(gateway, data)).status == 200


async def test_accept_headers_do_not_change_the_answer(gateway):
    extra = [("Accept", "text/html"), ("Accept-Encoding", "gzip"), CLOSE]
    reply = await send_one(gateway, signed_call(gateway, "get", BODY, extra=extra))
    assert reply.headers["content-type"] == "application/json"
    assert "content-encoding" not in reply.headers
