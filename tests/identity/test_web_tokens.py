"""Verification of tokens, and the cache of verdicts."""

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.identity import web_tokens
from tests.identity.issuer import AUDIENCE, ISSUER, PRIVATE, claims, forged, jwks, shown, token


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_a_token_signed_by_the_issuer_yields_its_claims(tokens, clock, algorithm):
    verified = await tokens.verify(token(clock, algorithm, groups=["ops"]))
    assert (verified.issuer, verified.subject, verified.all["groups"]) == (ISSUER, "ada", ["ops"])


GOOD = [
    {"aud": ["other", AUDIENCE]},
    {"nbf": None, "iat": None},
    {"exp": 4_000_000_000.5},
    {"sub": "x" * 255},
]


@pytest.mark.parametrize("changes", GOOD, ids=str)
async def test_valid_claims_are_accepted(tokens, clock, changes):
    assert await tokens.verify(token(clock, **changes))


BAD = [
    {"exp": None},
    {"exp": "4000000000"},
    {"exp": True},
    {"exp": -1},
    {"exp": 10**30},
    {"exp": 0},
    {"exp": [4_000_000_000]},
    {"nbf": 4_000_000_000},
    {"nbf": "0"},
    {"aud": None},
    {"aud": "other"},
    {"aud": [AUDIENCE + "x"]},
    {"aud": []},
    {"aud": {AUDIENCE: 1}},
    {"iss": None},
    {"iss": "https://other.example.com"},
    {"iss": ISSUER + "/"},
    {"iss": [ISSUER]},
    {"sub": None},
    {"sub": ""},
    {"sub": 5},
    {"sub": "x" * 256},
]


def signed(clock, changes):
    """Signs any claims with the issuer's key; PyJWT would refuse to encode some of them."""
    return jwt.api_jws.encode(
        json.dumps(claims(clock, **changes)).encode(), PRIVATE["RS256"], "RS256", headers={"kid": "RS256"}
    ).encode()


@pytest.mark.parametrize("changes", BAD, ids=str)
async def test_invalid_claims_are_refused(tokens, clock, changes):
    assert await tokens.verify(signed(clock, changes)) is None


def _secret_of_public_key() -> bytes:
    return PRIVATE["RS256"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "", "HS256", "HS512", "RS512", "PS256", "ES384"]
)
async def test_no_other_algorithm_is_accepted(tokens, clock, algorithm):
    for key_id in ("RS256", "ES256", None):
        header = {"alg": algorithm, "kid": key_id}
        assert await tokens.verify(forged(header, claims(clock))) is None
        assert await tokens.verify(forged(header, claims(clock), b"") + b"A") is None


async def test_a_public_key_is_never_used_as_an_hmac_secret(tokens, clock):
    for algorithm in ("HS256", "RS256"):
        unsigned = forged({"alg": algorithm, "kid": "RS256"}, claims(clock)).rpartition(b".")[0]
        proof = hmac.digest(_secret_of_public_key(), unsigned, hashlib.sha256)
        assert await tokens.verify(unsigned + b"." + base64.urlsafe_b64encode(proof).rstrip(b"=")) is None


async def test_a_key_verifies_its_own_algorithm_only(tokens, clock):
    for algorithm in PRIVATE:
        for other in PRIVATE:
            sent = token(clock, algorithm, headers={"kid": other})
            assert (await tokens.verify(sent) is not None) is (algorithm == other)


async def test_a_key_inside_the_token_is_ignored(tokens, clock):
    own = rsa.generate_private_key(65537, 2048)
    for headers in (
        {"jwk": shown(own, "RS256")},
        {"jku": "http://127.0.0.1:1/"},
        {"x5u": "http://127.0.0.1:1/"},
    ):
        sent = jwt.encode(claims(clock), own, "RS256", headers={"kid": "RS256", **headers})
        assert await tokens.verify(sent.encode()) is None


async def test_a_critical_extension_is_refused(tokens, clock):
    assert await tokens.verify(token(clock, headers={"crit": ["b64"], "b64": False})) is None
    assert await tokens.verify(token(clock, headers={"crit": ["x"], "x": 1})) is None


async def test_a_token_without_a_key_id_uses_the_only_key_of_its_algorithm(tokens, issuer, clock):
    sent = jwt.encode(claims(clock), PRIVATE["RS256"], "RS256").encode()
    assert await tokens.verify(sent)
    issuer.body = jwks(shown(PRIVATE["RS256"], "a"), shown(rsa.generate_private_key(65537, 2048), "b"))
    clock.advance(10_000)
    await tokens.keys[0].refresh()
    clock.advance(300_000)
    await tokens.keys[0].refresh()
    assert await tokens.verify(jwt.encode(claims(clock), PRIVATE["RS256"], "RS256").encode()) is None


async def test_a_token_with_any_byte_changed_is_refused(tokens, clock):
    sent = token(clock, "ES256")
    assert await tokens.verify(sent)
    for place in range(0, len(sent) - 1, 7):
        changed = sent[:place] + (b"A" if sent[place : place + 1] != b"A" else b"B") + sent[place + 1 :]
        assert await tokens.verify(changed) is None


async def test_a_token_is_verified_once_and_expires_at_its_exp(tokens, clock, monkeypatch):
    decoded = []
    decode = jwt.decode
    monkeypatch.setattr(jwt, "decode", lambda *a, **k: (decoded.append(1), decode(*a, **k))[1])
    sent = token(clock)
    first = await tokens.verify(sent)
    clock.advance(599_000)
    assert await tokens.verify(sent) is first
    assert len(decoded) == 1
    clock.advance(1_000)
    assert await tokens.verify(sent) is None


async def test_a_token_may_be_used_a_minute_before_its_nbf(tokens, clock):
    now = clock.wall_ms() // 1000
    assert await tokens.verify(token(clock, nbf=now + 60))
    assert await tokens.verify(token(clock, nbf=now + 62)) is None


async def test_the_cache_is_bounded_and_holds_valid_tokens_only(tokens, clock, monkeypatch):
    assert tokens._cache.maxsize == web_tokens.MAX_CACHED == 10_000
    for number in range(20):
        assert await tokens.verify(signed(clock, {"sub": "", "jti": str(number)})) is None
    assert len(tokens._cache) == 0


async def test_an_oversized_token_is_refused_without_a_fetch(tokens, issuer, clock):
    assert await tokens.verify(token(clock, padding="x" * 20_000)) is None
    assert issuer.asked == 0


@given(st.one_of(st.binary(max_size=300), st.from_regex(rb"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
async def test_random_bytes_are_refused(tokens, sent):
    assert await tokens.verify(sent) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("exp", "nbf", "aud", "sub", "iat", "jti", "x"), JSON)),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("alg", "kid", "typ", "crit", "b64", "cty"), JSON)),
)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
async def test_any_header_and_claims_with_a_wrong_signature_are_refused(tokens, stated, header):
    whole = {"alg": "RS256", "kid": "RS256", **header}
    assert await tokens.verify(forged(whole, {"iss": ISSUER, **stated})) is None


async def test_a_deeply_nested_header_is_refused(tokens, clock):
    deep = b'{"alg":"RS256","kid":"RS256","x":' + b"[" * 3000 + b"]" * 3000 + b"}"
    header = base64.urlsafe_b64encode(deep).rstrip(b"=")
    assert await tokens.verify(header + b"." + token(clock).split(b".", 1)[1]) is None
