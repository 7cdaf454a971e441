"""A query string must be covered by the signature and is otherwise ignored."""

import pytest

from tests.sigv4.wire import assert_refused, signed

MISMATCH = ("signature_mismatch", "InvalidSignatureException")


@pytest.mark.parametrize(
    "query",
    [
        "a=1",
        "b=2&a=1",
        "a=2&a=1",
        "a",
        "a=",
        "a=b%3Dc",
        "key=%2Fetc%2Fpasswd",
        "token=x&key=other",
        "%C3%BC=%E2%82%AC",
        "amz=x-amz-date",
        "q=%26x-amz-date%3D1",
        "A=1&a=1&_=1",
    ],
)
async def test_a_signed_query_is_ignored(gateway, query):
    wire = signed(gateway, target=f"/v1/put?{query}")
    assert (await wire.send(gateway)).json == {"ok": True}
    assert (await gateway.get("k")).json["value"] == "v"


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("", "?a=1"),
        ("?a=1", ""),
        ("?a=1", "?"),
        ("?a=1", "?a=2"),
        ("?a=1", "?A=1"),
        ("?a=1", "?a=1&b=2"),
        ("?a=1&b=2", "?a=1"),
        ("?a=1&b=2", "?a=2&b=1"),
        ("?a=1", "?a=1&a=1"),
        ("?a=%20", "?a=+"),
        ("?a=%2B", "?a=%20"),
        ("?a=%26b", "?a=&b"),
    ],
)
async def test_a_query_that_was_changed_after_signing_is_a_mismatch(gateway, query, sent):
    wire = signed(gateway, target=f"/v1/put{query}").but(target=f"/v1/put{sent}".encode())
    assert_refused(await wire.send(gateway), *MISMATCH)


@pytest.mark.parametrize(
    ("query", "sent"), [("?a=1&b=2", "?b=2&a=1"), ("", "?"), ("?a=%2F", "?a=%2f"), ("?a=%7E", "?a=~")]
)
async def test_another_spelling_of_the_same_query_is_the_same_request(gateway, query, sent):
    canonical = query.replace("%7E", "~")
    wire = signed(gateway, target=f"/v1/put{canonical}").but(target=f"/v1/put{sent}".encode())
    assert (await wire.send(gateway)).status == 200


@pytest.mark.parametrize(
    "query", ["%", "%zz=%", "&", "&&", "=", "=&=", "a;b", "?", "/", "a" * 4000, "%ff%fe"]
)
async def test_an_unsigned_odd_query_is_a_mismatch_or_has_no_effect(gateway, query):
    reply = await signed(gateway).but(target=f"/v1/put?{query}".encode()).send(gateway)
    if query.strip("&"):
        assert_refused(reply, *MISMATCH)
    else:
        assert reply.status == 200


@pytest.mark.parametrize(
    "path",
    ["/v1//put", "/v1/./put", "/v1/x/../put", "//v1/put", "/v1/put/", "/v1/%70ut", "/V1/put", "/v1/put%20"],
)
async def test_an_alias_of_a_path_is_not_found_before_its_signature_is_checked(gateway, path):
    reply = await signed(gateway, target=path).send(gateway)
    assert (reply.status, reply.json) == (404, {"error": "not_found"})
