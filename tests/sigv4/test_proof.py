"""Only a holder of the secret can sign, and a refusal reveals nothing."""

import pytest

from gateway.domain.call import Headers
from gateway.domain.errors import SignatureMismatch
from gateway.sigv4 import Claim, SigningKeys, examine
from tests.sigv4.suite import NOW_SECONDS, RULES, SECRET, read_case
from tests.sigv4.wire import assert_refused, signed
from tests.support.config import ROLE, TABLE_TOKEN
from tests.support.gateway import run_gateway

MISMATCH = (
    "signature_mismatch",
    "InvalidSignatureException",
    "The request signature we calculated does not match the signature you provided.",
)
UNKNOWN = (
    "invalid_credentials",
    "UnrecognizedClientException",
    "The security token included in the request is invalid.",
)


@pytest.mark.parametrize(
    "secret", ["wrong", "AKIDEXAMPLE", "test-secret-access-ke", "test-secret-access-key "]
)
async def test_another_secret_is_a_mismatch(gateway, secret):
    reply = await gateway.put("k", 1, signer=gateway.signer.but(secret_access_key=secret))
    assert_refused(reply, *MISMATCH)


@pytest.mark.parametrize("key", ["AKIDUNKNOWN", "akidexample", "AKIDEXAMPL", "AKIDEXAMPLE2", "ASIAEXAMPLE"])
async def test_an_unknown_key_is_not_accepted_with_any_secret(gateway, key):
    reply = await gateway.put("k", 1, signer=gateway.signer.but(access_key_id=key, secret_access_key=key))
    assert_refused(reply, *UNKNOWN)


@pytest.mark.parametrize("place", [0, 1, 31, 62, 63])
async def test_one_other_digit_in_the_signature_is_a_mismatch(gateway, place):
    wire = signed(gateway)
    signature = wire.value("Authorization").rpartition(b"=")[2].decode()
    digit = "0" if signature[place] != "0" else "1"
    changed = signature[:place] + digit + signature[place + 1 :]
    assert_refused(await wire.edit(signature, changed).send(gateway), *MISMATCH)


async def test_the_signature_of_another_request_is_a_mismatch(gateway):
    one, other = signed(gateway), signed(gateway, target="/v1/get")
    wire = one.set("Authorization", other.value("Authorization"))
    assert_refused(await wire.send(gateway), *MISMATCH)


async def test_each_static_key_has_its_own_secret():
    keys = [
        {"access_key_id": f"AKID{number}", "secret_access_key": f"secret-access-key-{number}", "role": ROLE}
        for number in range(2)
    ]
    async with run_gateway({"signature": {"credentials": {"static": keys}}}) as gateway:
        first = gateway.signer.but(access_key_id="AKID0", secret_access_key="secret-access-key-0")
        assert (await gateway.put("k", 1, signer=first)).status == 200
        assert_refused(await gateway.put("k", 1, signer=first.but(access_key_id="AKID1")), *MISMATCH)


async def test_a_mismatch_returns_no_secret_of_the_request(gateway):
    wire = signed(gateway, headers={"X-Free": "free-text"}).but(body=b'{"key": "other"}')
    reply = await wire.send(gateway)
    assert_refused(reply, *MISMATCH)
    shown = reply.body + str(reply.headers).encode()
    for hidden in (
        TABLE_TOKEN,
        "free-text",
        "AKIDEXAMPLE",
        "x-amz-date",
        "test-secret-access-key",
        "other",
    ):
        assert hidden.encode() not in shown


async def test_no_refusal_returns_the_authorization(gateway):
    wire = signed(gateway)
    signature = wire.value("Authorization").rpartition(b"=")[2]
    for broken in (
        wire.edit("eu-central-1", "us-east-1"),
        wire.edit("Credential=", "Credential"),
        wire.edit(", Signature=", "; Signature="),
        wire.add("X-Amz-Security-Token", "some-session-token"),
        wire.set("X-Amz-Date", "some-date"),
    ):
        reply = await broken.send(gateway)
        assert reply.status == 403
        assert signature not in reply.body
        assert b"some-" not in reply.body


def claim_of(name: str, **changes) -> Claim:
    case = read_case(name).but(**changes)
    headers = Headers([*case.fields, (b"Authorization", case.authorization)])
    return examine(case.method, case.target, headers, case.body, rules=RULES, now_seconds=NOW_SECONDS)


def test_a_replaced_secret_takes_effect_immediately():
    keys, claim = SigningKeys(), claim_of("post-vanilla")
    keys.prove(claim, SECRET)
    with pytest.raises(SignatureMismatch):
        keys.prove(claim, b"the new secret")
    keys.prove(claim, SECRET)


def test_a_proof_leaves_the_cached_key_unchanged():
    keys = SigningKeys()
    for name in ("post-vanilla", "get-vanilla", "post-vanilla-query", "post-vanilla"):
        keys.prove(claim_of(name), SECRET)


def test_the_cache_of_keys_is_bounded():
    keys, claim = SigningKeys(size=8), claim_of("post-vanilla")
    for number in range(100):
        with pytest.raises(SignatureMismatch):
            keys.prove(claim, b"secret %d" % number)
    assert keys._keyed.cache_info().currsize == 8
    keys.prove(claim, SECRET)
