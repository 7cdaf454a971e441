"""What an attacker, or a hostile issuer, could try beside tokens and keys that are simply wrong."""

import gzip
import json
import tracemalloc

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gateway.identity.issuer_keys import IssuerKeys
from gateway.identity.keys import MOST_BYTES, parse_keys
from gateway.identity.web_tokens import TrustedIssuer, WebTokens
from gateway.replica.key_sources import fetch_keys
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
    """The text of good claims, with more members behind them."""
    return (json.dumps(claims(clock))[:-1] + "".join(f", {each}" for each in more) + "}").encode()


async def test_claims_that_are_signed_as_a_text_are_believed(tokens, clock):
    assert (await tokens.verify(signed_text(stated(clock)))).subject == "ada"


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "1e30", "-1", "0x7fffffff", "9" * 400]
)
async def test_an_end_that_is_no_time_is_none(tokens, clock, number):
    text = json.dumps(claims(clock, exp=None))[:-1]
    assert await tokens.verify(signed_text(f'{text}, "exp": {number}}}'.encode())) is None


async def test_of_repeated_claims_the_last_counts_in_every_reading(tokens, clock):
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
async def test_a_strange_header_proves_nothing_or_what_its_last_members_say(tokens, clock, header):
    believed = await tokens.verify(signed_text(stated(clock), header))
    assert (believed is not None) is header.startswith(b'{"alg":"none"')


@pytest.mark.parametrize("length", [1025, 8000, 12_000, 200_000])
async def test_a_huge_key_id_asks_nobody(tokens, issuer, clock, length):
    assert await tokens.verify(token(clock, headers={"kid": "k" * length})) is None
    assert issuer.asked == 0


async def test_claims_of_the_issuer_that_are_nested_deeply_are_refused(tokens, clock):
    for depth in (500, 5000):
        text = stated(clock, f'"x": {"[" * depth}{"]" * depth}')
        assert await tokens.verify(signed_text(text)) is None or depth == 500


async def test_an_issuer_vouches_with_its_own_keys_alone_though_another_uses_the_same_id(keys, clock):
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


def test_a_point_that_is_on_another_curve_is_no_key():
    point = shown(ec.generate_private_key(ec.SECP256R1()), "a")
    twisted = {**point, "y": point["x"]}
    assert parse_keys(jwks(twisted, shown(PRIVATE["ES256"], "b"))).keys() == {("b", "ES256")}


def test_of_keys_with_one_id_the_first_is_meant():
    first, second = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    (key,) = parse_keys(jwks(shown(first, "a"), shown(second, "a"))).values()
    assert key.public_numbers() == first.public_key().public_numbers()


async def test_what_an_issuer_compresses_is_not_inflated(keys, issuer, caplog):
    issuer.fields = "Content-Encoding: gzip\r\n"
    issuer.body = gzip.compress(b'{"keys": [' + b" " * 100_000_000 + b"]}")
    assert len(issuer.body) < MOST_BYTES
    tracemalloc.start()
    await keys.refresh()
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 10_000_000
    (line,) = [record.fields for record in caplog.records if record.name == "kvs.identity"]
    assert line["problem"] == "is no JWKS"


@pytest.mark.parametrize("misbehave", ["single bytes", "endless head", "early hints"])
async def test_an_answer_without_an_end_is_given_up_and_known_keys_stay(keys, issuer, clock, misbehave):
    assert await keys.find("RS256", "RS256")
    issuer.misbehave = misbehave
    clock.advance(300_000)
    tracemalloc.start()
    await keys.refresh()
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 100_000_000
    assert keys.fetches == {"ok": 1, "error": 1}
    assert await keys.find("RS256", "RS256")


@pytest.mark.parametrize("status", ["301 Moved", "303 See Other", "307 Again", "308 Moved", "300 Choices"])
async def test_an_issuer_sends_nobody_elsewhere(keys, issuer, status):
    issuer.status = status
    await keys.refresh()
    assert (issuer.asked, keys.keys) == (1, {})
