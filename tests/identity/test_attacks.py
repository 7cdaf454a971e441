"""Attacks by callers and by hostile issuers, beyond tokens and keys that are simply wrong."""

import gzip
import json
import tracemalloc

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gateway.identity.issuer_keys import IssuerKeys
from gateway.identity.keys import MOST_BYTES, parse_keys
from gateway.identity.web_tokens import TrustedIssuer, WebTokens
from gateway.replica import background
from gateway.replica.background import fetch_keys
from tests.identity.issuer import (
    AUDIENCE,
    ISSUER,
    PRIVATE,
    claims,
    issuing,
    jwks,
    shown,
    signed_text,
    token,
)

OTHER = "https://other.example.com"


def stated(clock, *more: str) -> bytes:
    """Returns valid claims as JSON text with `more` members appended."""
    return (json.dumps(claims(clock))[:-1] + "".join(f", {each}" for each in more) + "}").encode()


async def test_claims_signed_as_raw_text_are_accepted(tokens, clock):
    assert (await tokens.verify(signed_text(stated(clock)))).subject == "ada"


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "1e30", "-1", "0x7fffffff", "9" * 400]
)
async def test_an_exp_that_is_no_valid_time_is_refused(tokens, clock, number):
    text = json.dumps(claims(clock, exp=None))[:-1]
    assert await tokens.verify(signed_text(f'{text}, "exp": {number}}}'.encode())) is None


async def test_the_last_of_repeated_claims_counts_in_every_parser(tokens, clock):
    twice = await tokens.verify(signed_text(stated(clock, '"sub": "eve"', '"\\u0073ub": "mallory"')))
    assert twice.subject == twice.all["sub"] == "mallory"
    for last in (f'"iss": "{OTHER}"', '"exp": 1', '"aud": "other"', '"sub": 5', '"e\\u0078p": null'):
        assert await tokens.verify(signed_text(stated(clock, last))) is None
    for first in (f'"iss": "{OTHER}"', '"exp": 1', '"aud": "other"'):
        text = f"{{{first}, {stated(clock).decode()[1:]}".encode()
        assert (await tokens.verify(signed_text(text))).subject == "ada"


@pytest.mark.parametrize(
    "header",
    [
        b'{"alg":"none","alg":"RS256","kid":"RS256"}',
        b'{"alg":"RS256","kid":"RS256","alg":"none"}',
        b'{"alg":"RS256","kid":"RS256","alg":"HS256"}',
        b'{"alg":"RS256","kid":5}',
        b'{"alg":"RS256","kid":["RS256"]}',
        b'{"alg":"RS256","kid":{}}',
        b'{"alg":["RS256"],"kid":"RS256"}',
        b'{"alg":"RS256","kid":"RS256","b64":false}',
        b'{"alg":"RS256","kid":"RS256","crit":[]}',
        b'{"kid":"RS256"}',
        b'["RS256"]',
        b"\xef\xbb\xbf{}",
    ],
)
async def test_a_malformed_header_is_refused_and_the_last_of_repeated_members_counts(tokens, clock, header):
    believed = await tokens.verify(signed_text(stated(clock), header))
    assert (believed is not None) is header.startswith(b'{"alg":"none"')


@pytest.mark.parametrize("length", [1025, 8000, 12_000, 200_000])
async def test_a_huge_key_id_causes_no_fetch(tokens, issuer, clock, length):
    assert await tokens.verify(token(clock, headers={"kid": "k" * length})) is None
    assert issuer.asked == 0


async def test_deeply_nested_claims_are_refused(tokens, clock):
    for depth in (500, 5000):
        text = stated(clock, f'"x": {"[" * depth}{"]" * depth}')
        assert await tokens.verify(signed_text(text)) is None or depth == 500


async def test_a_token_needs_its_own_issuers_key_even_if_another_issuer_uses_the_same_key_id(keys, clock):
    own = rsa.generate_private_key(65537, 2048)
    async with issuing() as other:
        other.body = jwks(shown(own, "RS256"))
        keys_of_other = IssuerKeys(OTHER, other.url, fetch_keys, clock)
        trusted = {
            ISSUER: TrustedIssuer(ISSUER, AUDIENCE, keys),
            OTHER: TrustedIssuer(OTHER, AUDIENCE, keys_of_other),
        }
        tokens = WebTokens(trusted, lambda claims: claims, clock)
        for issuer, private in ((ISSUER, PRIVATE["RS256"]), (OTHER, own)):
            sent = jwt.encode(claims(clock, iss=issuer), private, "RS256", headers={"kid": "RS256"})
            assert (await tokens.verify(sent.encode())).issuer == issuer
        for issuer, private in ((OTHER, PRIVATE["RS256"]), (ISSUER, own)):
            sent = jwt.encode(claims(clock, iss=issuer), private, "RS256", headers={"kid": "RS256"})
            assert await tokens.verify(sent.encode()) is None


def test_a_point_off_the_curve_is_skipped():
    point = shown(ec.generate_private_key(ec.SECP256R1()), "a")
    twisted = {**point, "y": point["x"]}
    assert parse_keys(jwks(twisted, shown(PRIVATE["ES256"], "b"))).keys() == {("b", "ES256")}


def test_the_first_of_two_keys_with_one_id_is_used():
    first, second = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    (key,) = parse_keys(jwks(shown(first, "a"), shown(second, "a"))).values()
    assert key.public_numbers() == first.public_key().public_numbers()


async def test_a_compressed_jwks_is_not_inflated(keys, issuer, caplog):
    issuer.fields = "Content-Encoding: gzip\r\n"
    issuer.body = gzip.compress(b'{"keys": [' + b" " * 20_000_000 + b"]}")
    assert len(issuer.body) < MOST_BYTES
    tracemalloc.start()
    await keys.refresh()
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 10_000_000
    (line,) = [record.fields for record in caplog.records if record.name == "kvs.identity"]
    assert line["problem"] == "not a JWKS"


@pytest.mark.parametrize("misbehave", ["single bytes", "endless head", "early hints"])
async def test_an_endless_response_is_abandoned_and_known_keys_stay(
    keys, issuer, clock, misbehave, monkeypatch
):
    assert await keys.find("RS256", "RS256")
    monkeypatch.setattr(background, "MOST_BYTES", 32 * 1024)
    issuer.misbehave = misbehave
    clock.advance(300_000)
    tracemalloc.start()
    await keys.refresh()
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 10_000_000
    assert keys.fetches == {"ok": 1, "error": 1}
    assert await keys.find("RS256", "RS256")
