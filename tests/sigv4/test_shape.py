"""Presence and format of the Authorization header."""

import pytest

from tests.sigv4.wire import assert_refused, signed

INCOMPLETE = ("incomplete_signature", "IncompleteSignatureException")
SCOPE = "AKIDEXAMPLE/20261120/eu-central-1/execute-api/aws4_request"
NAMES = "SignedHeaders=content-type;host;x-amz-date;x-kvs-authorization"


async def test_a_signed_request_is_served(gateway):
    reply = await signed(gateway).send(gateway)
    assert (reply.status, reply.json) == (200, {"ok": True})


async def test_no_authorization_is_a_missing_signature(gateway):
    reply = await signed(gateway).drop("Authorization").send(gateway)
    assert_refused(
        reply, "missing_signature", "MissingAuthenticationTokenException", "Missing Authentication Token"
    )


async def test_a_table_token_alone_is_a_missing_signature(gateway):
    reply = await gateway.put("k", 1, signer=None)
    assert_refused(reply, "missing_signature", "MissingAuthenticationTokenException")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 ",
        "AWS4-HMAC-SHA256 ,",
        "AWS4-HMAC-SHA256 Credential",
        "AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature=",
        "Bearer test-table-token",
        "Basic QUtJREVYQU1QTEU6eA==",
        "AWS AKIDEXAMPLE:frJIUN8DYpKDtOLCwo//yllqDzg=",
        "AWS4-ECDSA-P256-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=00",
        "null",
        "=" * 4000,
        "AWS4-HMAC-SHA256 " + "a=b," * 1000,
    ],
)
async def test_an_authorization_of_another_scheme_is_incomplete(gateway, value):
    assert_refused(await signed(gateway).set("Authorization", value).send(gateway), *INCOMPLETE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("AWS4-HMAC-SHA256 ", "aws4-hmac-sha256 "),
        ("AWS4-HMAC-SHA256 ", "AWS4-HMAC-SHA512 "),
        ("AWS4-HMAC-SHA256 ", ""),
        ("Credential=", "credential="),
        ("Credential=", "Credentials="),
        ("Credential=", "Credential:"),
        ("Credential=AKIDEXAMPLE", "Credential= AKIDEXAMPLE"),
        (SCOPE, ""),
        (SCOPE, "AKIDEXAMPLE"),
        (SCOPE, "AKIDEXAMPLE/20261120/eu-central-1/execute-api"),
        (SCOPE, SCOPE + "/more"),
        (SCOPE, SCOPE + "/"),
        (SCOPE, "a/" + SCOPE),
        ("AKIDEXAMPLE/", "/"),
        ("AKIDEXAMPLE", "AKID EXAMPLE"),
        (", Signature=", ", Signature=0"),
        (", Signature=", ", Signature=Z"),
        (", Signature=", ", Unknown=1, Signature="),
        (", Signature=", ",, Signature="),
        (", Signature=", " Signature="),
        (", Signature=", ", Credential=AKIDEXAMPLE, Signature="),
        (", Signature=", f", Signature={'0' * 64}, Signature="),
        (f"Credential={SCOPE}, ", ""),
        (f"{NAMES}, ", ""),
        (NAMES, "SignedHeaders"),
    ],
)
async def test_a_part_that_is_missing_doubled_or_malformed_is_incomplete(gateway, old, new):
    assert_refused(await signed(gateway).edit(old, new).send(gateway), *INCOMPLETE)


@pytest.mark.parametrize("end", [b",", b", ", b",,"])
async def test_a_comma_with_nothing_behind_it_is_incomplete(gateway, end):
    wire = signed(gateway)
    whole = wire.value("Authorization")
    assert_refused(await wire.set("Authorization", whole + end).send(gateway), *INCOMPLETE)


@pytest.mark.parametrize("part", ["Credential", "SignedHeaders", "Signature"])
async def test_the_message_names_the_part_that_is_missing(gateway, part):
    reply = await signed(gateway).edit(f"{part}=", "Other=").send(gateway)
    assert_refused(reply, *INCOMPLETE, f"Authorization header requires '{part}' parameter.")


@pytest.mark.parametrize("signature", ["", "00", "0" * 63, "0" * 65, "g" * 64, "A" * 64, "0x" + "0" * 62])
async def test_a_signature_is_64_lower_case_hexadecimal_digits(gateway, signature):
    wire = signed(gateway)
    whole = wire.value("Authorization").rpartition(b"=")[2]
    assert_refused(await wire.edit(whole, signature).send(gateway), *INCOMPLETE)


@pytest.mark.parametrize("separator", [",", ", ", " ,  ", ",\t"])
async def test_parameters_may_be_separated_with_any_spacing(gateway, separator):
    assert (await signed(gateway).edit(", ", separator).send(gateway)).status == 200


@pytest.mark.parametrize("separator", [b",", b", ", b" ,  "])
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
async def test_parameters_may_come_in_any_order(gateway, order, separator):
    wire = signed(gateway)
    algorithm, _, parameters = wire.value("Authorization").partition(b" ")
    turned = separator.join(parameters.split(b", ")[place] for place in order)
    assert (await wire.set("Authorization", algorithm + b" " + turned).send(gateway)).status == 200


@pytest.mark.parametrize("first", ["Bearer x", "", "AWS4-HMAC-SHA256 Credential=a/b/c/d/e"])
async def test_two_authorization_headers_are_incomplete(gateway, first):
    wire = signed(gateway)
    assert_refused(await wire.add("Authorization", first).send(gateway), *INCOMPLETE)


async def test_the_same_authorization_sent_twice_is_incomplete(gateway):
    wire = signed(gateway)
    twice = wire.add("authorization", wire.value("Authorization"))
    assert_refused(await twice.send(gateway), *INCOMPLETE)


@pytest.mark.parametrize(
    "query",
    [
        "X-Amz-Signature=" + "0" * 64,
        "x-amz-signature=" + "0" * 64,
        "X-Amz-Credential=AKIDEXAMPLE",
        "a=b&X-Amz-Algorithm=AWS4-HMAC-SHA256",
        "X%2DAmz%2DSecurity%2DToken=t",
        "%58-amz-date=20261120T000000Z",
    ],
)
async def test_authentication_in_the_query_string_is_incomplete_beside_an_authorization(gateway, query):
    assert_refused(await signed(gateway, target=f"/v1/put?{query}").send(gateway), *INCOMPLETE)


async def test_authentication_in_the_query_string_alone_is_a_missing_signature(gateway):
    query = f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={SCOPE}&X-Amz-Signature={'0' * 64}"
    wire = signed(gateway, target=f"/v1/put?{query}").drop("Authorization")
    assert_refused(await wire.send(gateway), "missing_signature", "MissingAuthenticationTokenException")


@pytest.mark.parametrize("old", ["AWS4", "AKIDEXAMPLE", "eu-central-1", "aws4_request", "host", "Signature="])
@pytest.mark.parametrize("strange", [b"\xff", b"\xc3\xa9", "\uff21".encode(), b"\x80\x80"])
async def test_bytes_beyond_ascii_anywhere_in_the_authorization_are_incomplete(gateway, old, strange):
    wire = signed(gateway).edit(old, old.encode() + strange)
    assert_refused(await wire.send(gateway), *INCOMPLETE)
