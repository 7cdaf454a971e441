"""Headers that must be signed, and the format of SignedHeaders."""

import pytest

from tests.sigv4.wire import assert_refused, sign_by_hand, signed

INCOMPLETE = ("incomplete_signature", "IncompleteSignatureException")
LIST = "content-type;host;x-amz-date;x-kvs-authorization"
NOW = "20261120T000000Z"


@pytest.mark.parametrize(
    "names",
    [
        "",
        ";",
        "host;x-amz-date;",
        ";host;x-amz-date",
        "host;;x-amz-date",
        "x-amz-date;host",
        "host;host;x-amz-date",
        "host;x-amz-date;x-amz-date",
        "Host;X-Amz-Date",
        "HOST;x-amz-date",
        "host;x-amz-Date",
        "host x-amz-date",
        "host,x-amz-date",
        "host; x-amz-date",
        "host:x-amz-date",
        "host;x-amz-date;x-not-sent",
        "authorisation;host;x-amz-date",
        "host;x-amz-date;" + ";".join(f"z{number:04}" for number in range(900)),
    ],
)
async def test_a_malformed_list_is_incomplete(gateway, names):
    assert_refused(await signed(gateway).edit(LIST, names).send(gateway), *INCOMPLETE)


async def test_an_unsorted_list_is_incomplete_even_if_all_else_holds(gateway):
    wire = sign_by_hand({"Host": host(gateway), "X-Amz-Date": NOW}, names="x-amz-date;host", date=NOW)
    assert_refused(await wire.send(gateway), *INCOMPLETE)


async def test_a_listed_header_that_was_not_sent_is_not_an_empty_one(gateway):
    sent = {"Host": host(gateway), "X-Amz-Date": NOW}
    wire = sign_by_hand(sent, names="host;x-absent;x-amz-date", date=NOW)
    assert_refused(await wire.send(gateway), *INCOMPLETE)


async def test_a_listed_header_that_was_sent_empty_is_served(gateway):
    sent = {"Host": host(gateway), "X-Amz-Date": NOW, "X-Empty": ""}
    wire = sign_by_hand(sent, names="host;x-amz-date;x-empty", date=NOW)
    assert (await wire.send(gateway)).status == 200


@pytest.mark.parametrize("name", ["Content-Type", "X-KVS-Authorization"])
async def test_a_request_without_one_of_its_signed_headers_is_incomplete(gateway, name):
    assert_refused(await signed(gateway).drop(name).send(gateway), *INCOMPLETE)


async def test_an_unsigned_host_is_incomplete_even_if_all_else_holds(gateway):
    wire = sign_by_hand({"Host": host(gateway), "X-Amz-Date": NOW}, names="x-amz-date", date=NOW)
    reply = await wire.send(gateway)
    assert_refused(reply, *INCOMPLETE)
    assert "Host" in reply.json["message"]


async def test_an_unsigned_date_is_incomplete_even_if_all_else_holds(gateway):
    wire = sign_by_hand({"Host": host(gateway), "X-Amz-Date": NOW}, names="host", date=NOW)
    reply = await wire.send(gateway)
    assert_refused(reply, *INCOMPLETE)
    assert "x-amz-date" in reply.json["message"]


@pytest.mark.parametrize(
    "name",
    ["X-Amz-Security-Token", "x-amz-meta-a", "X-AMZ-TARGET", "x-amz-", "x-amz-content-sha256-more"],
)
async def test_an_x_amz_header_that_was_added_after_signing_is_incomplete(gateway, name):
    assert_refused(await signed(gateway).add(name, "anything").send(gateway), *INCOMPLETE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Amzn-Trace-Id", "Root=1-5759e988-bd862e3fe1be46a994272793"),
        ("x-amzn-anything", "a"),
        ("x-amazon-anything", "a"),
        ("x-amz", "a"),
        ("User-Agent", "anything"),
        ("X-Forwarded-For", "203.0.113.7"),
        ("X-Forwarded-Host", "elsewhere.example"),
        ("Via", "1.1 proxy"),
    ],
)
async def test_headers_added_by_intermediaries_may_be_unsigned(gateway, name, value):
    assert (await signed(gateway).add(name, value).send(gateway)).status == 200


async def test_content_type_and_table_token_may_be_unsigned(gateway):
    wire = sign_by_hand({"Host": host(gateway), "X-Amz-Date": NOW}, names="host;x-amz-date", date=NOW)
    assert (await wire.send(gateway)).status == 200


async def test_a_signed_table_token_cannot_be_exchanged(gateway):
    wire = signed(gateway).set("X-KVS-Authorization", "Bearer other-table-token")
    assert_refused(await wire.send(gateway), "signature_mismatch", "InvalidSignatureException")


@pytest.mark.parametrize("value", ["a  b", "a\tb", "  a b", "a b\t ", '"a   b"', "a,b , c", "é"])
async def test_white_space_in_signed_values_is_folded_like_clients_do(gateway, value):
    assert (await signed(gateway, headers={"X-Free": value}).send(gateway)).status == 200


async def test_the_values_of_a_repeated_signed_header_count_in_their_order(gateway):
    wire = signed(gateway, headers={"X-Free": "one,two"}).drop("X-Free")
    assert (await wire.add("X-Free", "one").add("x-free", " two ").send(gateway)).status == 200
    turned = await wire.add("X-Free", "two").add("X-Free", "one").send(gateway)
    assert_refused(turned, "signature_mismatch", "InvalidSignatureException")


async def test_a_second_value_of_a_signed_header_is_a_mismatch(gateway):
    wire = signed(gateway, headers={"X-Free": "one"}).add("X-Free", "two")
    assert_refused(await wire.send(gateway), "signature_mismatch", "InvalidSignatureException")


async def test_a_name_beyond_ascii_in_the_list_is_incomplete(gateway):
    wire = signed(gateway).edit(LIST, LIST.encode() + b";\xff\xfe")
    assert_refused(await wire.send(gateway), *INCOMPLETE)


def host(gateway) -> str:
    return gateway.data.split("/")[2]
