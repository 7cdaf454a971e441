"""The signature covers the body as sent on the wire; no placeholder for its hash is accepted."""

import gzip
from hashlib import sha256

import pytest

from tests.sigv4.wire import BODY, assert_refused, signed

HASH = "X-Amz-Content-Sha256"
RIGHT = sha256(BODY).hexdigest()
MISMATCH = ("signature_mismatch", "InvalidSignatureException")
INCOMPLETE = ("incomplete_signature", "IncompleteSignatureException")


async def test_the_hash_of_the_body_may_be_declared_and_signed(gateway):
    assert (await signed(gateway, headers={HASH: RIGHT}).send(gateway)).status == 200


async def test_the_hash_of_the_body_may_be_declared_unsigned(gateway):
    assert (await signed(gateway).add(HASH, RIGHT).send(gateway)).status == 200


@pytest.mark.parametrize(
    "declared", ["", "0" * 64, sha256(b"").hexdigest(), RIGHT[:-1], RIGHT + "0", "é", "*"]
)
async def test_another_hash_than_the_body_has_is_a_mismatch(gateway, declared):
    assert_refused(await signed(gateway).add(HASH, declared).send(gateway), *MISMATCH)


async def test_a_hash_declared_twice_is_a_mismatch(gateway):
    assert_refused(await signed(gateway).add(HASH, RIGHT).add(HASH, RIGHT).send(gateway), *MISMATCH)


async def test_another_body_is_a_mismatch_even_if_its_own_hash_is_declared(gateway):
    other = BODY.replace(b'"v"', b'"w"')
    wire = signed(gateway).but(body=other).add(HASH, sha256(other).hexdigest())
    assert_refused(await wire.send(gateway), *MISMATCH)


async def test_a_wrong_hash_is_reported_only_after_the_key_was_found(gateway):
    signer = gateway.signer.but(access_key_id="AKIDUNKNOWN")
    wire = signed(gateway, signer=signer).add(HASH, "0" * 64)
    assert_refused(await wire.send(gateway), "invalid_credentials", "UnrecognizedClientException")


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize(
    "mode",
    [
        "UNSIGNED-PAYLOAD",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "STREAMING-ANYTHING",
    ],
)
async def test_a_payload_mode_instead_of_a_hash_is_incomplete(gateway, mode, is_signed):
    wire = signed(gateway, headers={HASH: mode}) if is_signed else signed(gateway).add(HASH, mode)
    assert_refused(await wire.send(gateway), *INCOMPLETE)


async def test_a_body_in_chunks_is_hashed_without_its_framing(gateway):
    wire = signed(gateway)
    fields = (*wire.fields, (b"Transfer-Encoding", b"chunked"), (b"Connection", b"close"))
    head = b"".join(name + b": " + value + b"\r\n" for name, value in fields)
    chunks = b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])
    received = await gateway.send_raw(b"POST /v1/put HTTP/1.1\r\n" + head + b"\r\n" + chunks)
    assert received.startswith(b"HTTP/1.1 200 ")


async def test_a_compressed_body_is_hashed_as_sent_and_then_refused_for_its_encoding(gateway):
    headers = {"Content-Encoding": "gzip"}
    reply = await signed(gateway, body=gzip.compress(BODY), headers=headers).send(gateway)
    assert (reply.status, reply.json) == (400, {"error": "invalid_content_type"})


async def test_a_body_compressed_after_signing_is_a_mismatch(gateway):
    wire = signed(gateway).but(body=gzip.compress(BODY)).add("Content-Encoding", "gzip")
    assert_refused(await wire.send(gateway), *MISMATCH)


@pytest.mark.parametrize("body", [b"", b"\x00\xff", "{}\u00fc".encode(), b" " * 131_072])
async def test_any_body_up_to_the_limit_can_be_signed(gateway, body):
    reply = await gateway.call("put", body)
    assert (reply.status, reply.json) == (400, {"error": "invalid_json"})


async def test_the_signature_of_one_operation_does_not_serve_for_another(gateway):
    wire = signed(gateway, target="/v1/get").but(target=b"/v1/delete")
    assert_refused(await wire.send(gateway), *MISMATCH)
