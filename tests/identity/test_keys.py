"""Parsing a JWKS: usable keys and their algorithms."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from gateway.identity.keys import UnusableKeys, parse_keys
from tests.identity.issuer import PRIVATE, jwks, shown

RSA = shown(PRIVATE["RS256"], "a")
PASSED_OVER = [
    {**RSA, "use": "enc"},
    {**RSA, "alg": "RS512"},
    {**RSA, "alg": "HS256"},
    {**RSA, "key_ops": ["sign"]},
    {**RSA, "kty": "oct", "k": "c2VjcmV0"},
    {"kty": "oct", "kid": "a", "k": "c2VjcmV0"},
    {**RSA, "n": ""},
    {**RSA, "n": "!!"},
    {**RSA, "n": 5},
    {**RSA, "n": "A" * 3000},
    {**RSA, "e": "AQAB" * 100},
    {**RSA, "e": "AA"},
    {**RSA, "e": "AQ"},
    {**RSA, "kid": 5},
    {**shown(PRIVATE["ES256"], "a"), "x": "AAAA"},
    {**shown(PRIVATE["ES256"], "a"), "crv": "P-384"},
    {**shown(PRIVATE["EdDSA"], "a"), "x": "AAAA"},
    {**shown(PRIVATE["EdDSA"], "a"), "crv": "X25519"},
    {**ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key(), as_dict=True), "kid": "a"},
    {**RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key(), as_dict=True), "kid": "a"},
    {},
    "text",
    None,
]


@pytest.mark.parametrize("key", PASSED_OVER, ids=range(len(PASSED_OVER)))
def test_an_unusable_key_is_skipped_and_the_others_are_used(key):
    good = shown(PRIVATE["ES256"], "good")
    assert set(parse_keys(json.dumps({"keys": [key, good]}))) == {("good", "ES256")}


@pytest.mark.parametrize(
    "fields", [{}, {"use": "sig"}, {"alg": "RS256"}, {"key_ops": ["verify"]}, {"x5c": ["x"]}]
)
def test_a_signature_key_is_used(fields):
    assert set(parse_keys(jwks({**RSA, **fields}))) == {("a", "RS256")}


def test_only_the_public_part_of_a_private_key_is_read():
    whole = {**RSAAlgorithm.to_jwk(PRIVATE["RS256"], as_dict=True), "kid": "a", "key_ops": ["verify"]}
    (key,) = parse_keys(jwks(whole)).values()
    assert isinstance(key, rsa.RSAPublicKey)


def test_too_many_keys_or_bytes_are_refused():
    for body in (jwks(*[RSA] * 101), jwks(RSA, {"x": "x" * 300_000})):
        with pytest.raises(UnusableKeys):
            parse_keys(body)
