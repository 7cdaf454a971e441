"""Session tokens are refused unless this gateway issued exactly these bytes."""

import hmac
import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gateway.credentials.session import SessionCredentials
from gateway.domain.errors import ExpiredCredentials, InvalidCredentials, SignatureRefusal
from gateway.domain.model import Environment
from tests.credentials.sessions import claims_of, decode, encode
from tests.support.clock import FakeClock
from tests.support.config import MASTER_KEY, ROLE

NOW_SECONDS = 1_795_132_800
CLOCK = FakeClock(NOW_SECONDS * 1000)
SESSIONS = SessionCredentials([MASTER_KEY], CLOCK)
ISSUED = SESSIONS.issue(ROLE, 900, Environment("acme", "shop", "production"))
TOKEN = ISSUED.session_token
CLAIMS, PROOF = TOKEN.split(".")

SPOILT: dict[str, str | bytes] = {
    "empty": "",
    "a dot": ".",
    "two dots": "..",
    "claims alone": CLAIMS,
    "no proof": CLAIMS + ".",
    "no claims": "." + PROOF,
    "last character missing": TOKEN[:-1],
    "first character missing": TOKEN[1:],
    "a character more": TOKEN + "A",
    "padded": TOKEN + "=",
    "a dot more": TOKEN + ".",
    "a part more": TOKEN + "." + PROOF,
    "a space more": TOKEN + " ",
    "a space inside": CLAIMS + " ." + PROOF,
    "padding inside": CLAIMS + "=." + PROOF,
    "a newline inside": CLAIMS + "\n." + PROOF,
    "zeros as proof": CLAIMS + "." + encode(b"\0" * 32),
    "half a proof": CLAIMS + "." + encode(decode(PROOF)[:16]),
    "parts exchanged": PROOF + "." + CLAIMS,
    "a comma": TOKEN.replace(".", ","),
    "case exchanged": TOKEN.swapcase(),
    "a raw header": '{"alg":"none"}.' + CLAIMS + ".",
    "a header without algorithm": encode(b'{"alg":"none"}') + "." + CLAIMS + ".",
    "a byte beyond ascii": TOKEN.encode() + b"\xff",
    "no text": b"\xff" * 40,
    "just too long": "A" * 4097,
    "far too long": "A" * 1_000_000,
}


def seal(claims: object, master_key: str = MASTER_KEY) -> str:
    """Returns a token over any claims with a valid proof."""
    text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    return encode(text) + "." + encode(hmac.digest(master_key.encode(), text, "sha256"))


def open_token(token: str | bytes) -> None:
    text = token.encode() if isinstance(token, str) else token
    SESSIONS.open(text, ISSUED.access_key_id)


def test_the_unmodified_token_is_valid():
    open_token(TOKEN)
    open_token(seal(claims_of(TOKEN)))


@pytest.mark.parametrize("name", SPOILT)
def test_a_truncated_extended_or_foreign_token_is_invalid(name):
    with pytest.raises(InvalidCredentials):
        open_token(SPOILT[name])


@pytest.mark.parametrize(
    "name", ["key_id", "access_key_id", "role", "issued_at", "expires_at", "environment"]
)
def test_a_claim_that_was_changed_breaks_the_proof(name):
    claims = claims_of(TOKEN)
    claims[name] = claims[name] + 1 if isinstance(claims[name], int) else "other"
    with pytest.raises(InvalidCredentials):
        open_token(encode(json.dumps(claims).encode()) + "." + PROOF)


def test_a_later_expiry_in_an_expired_token_does_not_help():
    expired = seal(claims_of(TOKEN) | {"expires_at": NOW_SECONDS})
    with pytest.raises(ExpiredCredentials):
        open_token(expired)
    later = encode(json.dumps(claims_of(expired) | {"expires_at": NOW_SECONDS + 900}).encode())
    with pytest.raises(InvalidCredentials):
        open_token(later + "." + expired.partition(".")[2])


def test_a_proof_by_another_master_key_is_invalid():
    with pytest.raises(InvalidCredentials):
        open_token(seal(claims_of(TOKEN), "another-master-key-of-32-characters-and-more"))


def test_a_token_of_another_gateway_is_invalid():
    foreign = SessionCredentials(
        ["another-master-key-of-32-characters-and-more"], FakeClock(NOW_SECONDS * 1000)
    )
    issued = foreign.issue(ROLE, 900, None)
    with pytest.raises(InvalidCredentials):
        SESSIONS.open(issued.session_token.encode(), issued.access_key_id)


@pytest.mark.parametrize(
    "claims",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"secret"',
        b"\xff",
        b"{",
        b"[" * 3000,
        {**claims_of(TOKEN), "admin": True},
        {**claims_of(TOKEN), "expires_at": str(NOW_SECONDS + 900)},
        {**claims_of(TOKEN), "expires_at": None},
        {**claims_of(TOKEN), "expires_at": NOW_SECONDS + 0.5},
        {**claims_of(TOKEN), "role": None},
        {**claims_of(TOKEN), "key_id": 1},
        {**claims_of(TOKEN), "environment": {"org": "acme"}},
        {**claims_of(TOKEN), "environment": "acme/shop/production"},
        {name: value for name, value in claims_of(TOKEN).items() if name != "role"},
        {name: value for name, value in claims_of(TOKEN).items() if name != "key_id"},
    ],
)
def test_claims_with_missing_unknown_or_mistyped_fields_are_invalid_even_if_proved(claims):
    with pytest.raises(InvalidCredentials):
        open_token(seal(claims))


def test_a_secret_is_never_equal_to_the_proof_of_a_token():
    with pytest.raises(InvalidCredentials):
        open_token(seal(b"secret" + TOKEN.encode()))


def test_the_cache_of_opened_session_tokens_is_bounded():
    sessions = SessionCredentials([MASTER_KEY], FakeClock(NOW_SECONDS * 1000))
    for _ in range(50):
        issued = sessions.issue(ROLE, 900, None)
        sessions.open(issued.session_token.encode(), issued.access_key_id)
    assert len(sessions._opened) == 50
    assert sessions._opened.maxsize == 10_000


def test_refused_session_tokens_are_not_cached():
    sessions = SessionCredentials([MASTER_KEY], FakeClock(NOW_SECONDS * 1000))
    for number in range(50):
        with pytest.raises(InvalidCredentials):
            sessions.open(b"token-%d" % number, "ASIA")
    assert len(sessions._opened) == 0


@settings(max_examples=500, deadline=None)
@given(token=st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(token):
    with pytest.raises(SignatureRefusal):
        open_token(token)


@settings(max_examples=500, deadline=None)
@given(claims=st.binary(max_size=100))
def test_any_claims_are_refused_in_words_even_if_proved(claims):
    with pytest.raises(SignatureRefusal):
        open_token(seal(claims))


@settings(max_examples=500, deadline=None)
@given(place=st.integers(0, len(TOKEN) - 1), character=st.characters(min_codepoint=0, max_codepoint=255))
def test_a_token_with_one_other_character_is_invalid(place, character):
    assume(TOKEN[place] != character)
    with pytest.raises(InvalidCredentials):
        open_token((TOKEN[:place] + character + TOKEN[place + 1 :]).encode("latin-1"))
