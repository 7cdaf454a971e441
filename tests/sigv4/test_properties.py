"""Requests signed by botocore verify, and no part of them can be changed afterwards."""

import string
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gateway.credentials.keyring import AccessKey, Keyring
from gateway.domain.call import Headers
from gateway.domain.errors import SignatureMismatch, SignatureRefusal
from gateway.domain.model import Caller
from gateway.sigv4 import SignatureRules, SigningKeys, examine
from tests.support.signing import REGION, Signer

NOW_SECONDS = 1_795_132_800
RULES = SignatureRules(region=REGION)
SIGNER = Signer()
SECRET = SIGNER.secret_access_key.encode()
KEYRING = Keyring({SIGNER.access_key_id: AccessKey(SECRET, Caller("role"))}, None)
ALPHANUMERIC = string.ascii_letters + string.digits

segments = st.text(max_size=8).filter(lambda text: text.isprintable())
paths = st.lists(
    st.one_of(
        segments.map(lambda text: quote(text, safe="")),
        segments.map(lambda text: quote(text, safe="!$&'()*+,;=:@")),
        st.sampled_from(["", ".", "..", "%2e%2E", "%2F", "%zz"]),
    ),
    max_size=5,
).map(lambda parts: "/" + "/".join(parts))
queries = st.lists(
    st.tuples(st.text(ALPHANUMERIC, min_size=1, max_size=4), st.text(max_size=6)), max_size=4
).map(lambda pairs: "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in pairs))
header_values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E) | st.just("\t"), max_size=20)
headers = st.dictionaries(
    st.text(string.ascii_letters + string.digits + "-", min_size=1, max_size=10).map(
        lambda name: "X-F" + name
    ),
    header_values,
    max_size=4,
)


class Signed:
    """A request signed by botocore, and its verification by the gateway."""

    def __init__(self, path: str, query: str, fields: dict[str, str], body: bytes) -> None:
        target = path + ("?" + query if query else "")
        sent = SIGNER.sign(f"https://kvs.example.com{target}", body, fields, at_seconds=NOW_SECONDS)
        self.target = target.encode()
        self.fields = [(name.encode(), value.encode()) for name, value in sent.items()]
        self.body = body

    def verify(self) -> None:
        claim = examine(
            b"POST", self.target, Headers(self.fields), self.body, rules=RULES, now_seconds=NOW_SECONDS
        )
        SigningKeys().prove(claim, KEYRING.find(claim.access_key_id, claim.session_token).secret)


requests = st.builds(Signed, paths, queries, headers, st.binary(max_size=60))


def has_alphanumeric(text: bytes) -> bool:
    return any(chr(byte) in ALPHANUMERIC for byte in text)


def another(text: bytes, place: int) -> bytes:
    """Replaces the letter or digit at `place`, counted among letters and digits."""
    places = [at for at, byte in enumerate(text) if chr(byte) in ALPHANUMERIC]
    changed = bytearray(text)
    at = places[place % len(places)]
    changed[at] = ord("0") if changed[at] != ord("0") else ord("1")
    return bytes(changed)


@settings(max_examples=100, deadline=None)
@given(request=requests)
def test_requests_signed_by_botocore_verify(request):
    request.verify()


@settings(max_examples=60, deadline=None)
@given(request=requests, place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_one_other_bit_in_the_body_is_refused(request, place, bit):
    body = bytearray(request.body or b"\0")
    body[place % len(body)] ^= 1 << bit
    request.body = bytes(body)
    with pytest.raises(SignatureMismatch):
        request.verify()


@settings(max_examples=60, deadline=None)
@given(request=requests, place=st.integers(0, 10_000))
def test_one_other_character_in_the_target_is_refused(request, place):
    # a segment before a double dot is removed, so it can be changed
    assume(has_alphanumeric(request.target) and b".." not in request.target.partition(b"?")[0])
    request.target = another(request.target, place)
    with pytest.raises(SignatureMismatch):
        request.verify()


@settings(max_examples=60, deadline=None)
@given(request=requests, field=st.integers(0, 100), place=st.integers(0, 10_000))
def test_one_other_character_in_any_header_is_refused(request, field, place):
    name, value = request.fields[field % len(request.fields)]
    assume(has_alphanumeric(value))
    request.fields[field % len(request.fields)] = (name, another(value, place))
    with pytest.raises(SignatureRefusal):
        request.verify()


@settings(max_examples=60, deadline=None)
@given(request=requests, field=st.integers(0, 100))
def test_a_request_without_one_of_its_headers_is_refused(request, field):
    del request.fields[field % len(request.fields)]
    with pytest.raises(SignatureRefusal):
        request.verify()


@settings(max_examples=60, deadline=None)
@given(request=requests, order=st.randoms(use_true_random=False))
def test_the_order_of_headers_does_not_matter(request, order):
    order.shuffle(request.fields)
    request.verify()


@settings(max_examples=60, deadline=None)
@given(request=requests, secret=st.binary(max_size=40))
def test_no_other_secret_verifies(request, secret):
    claim = examine(
        b"POST", request.target, Headers(request.fields), request.body, rules=RULES, now_seconds=NOW_SECONDS
    )
    assume(secret != SECRET)
    with pytest.raises(SignatureMismatch):
        SigningKeys().prove(claim, secret)
