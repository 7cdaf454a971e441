"""Any input gives 4xx, never 5xx. The fuzz target `signature` tries far more inputs."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.credentials.keyring import AccessKey, ApprovedRoles, Keyring
from gateway.credentials.session import SessionCredentials
from gateway.credentials.trusted_proxy import NOWHERE, TrustedProxy
from gateway.dataplane.policies.caller import SignaturePolicy
from gateway.domain.call import Call, Headers
from gateway.domain.errors import Refusal
from gateway.domain.model import Caller, Operation
from gateway.sigv4 import SignatureRules
from tests.sigv4.wire import signed
from tests.support.clock import FakeClock
from tests.support.config import MASTER_KEY, ROLE
from tests.support.signing import REGION, Signer

NOW_SECONDS = 1_795_132_800
SESSIONS = SessionCredentials([MASTER_KEY], FakeClock(NOW_SECONDS * 1000))
ISSUED = SESSIONS.issue(ROLE, 3600, None)
POLICY = SignaturePolicy(
    rules=SignatureRules(region=REGION, public_hosts=frozenset({"kvs.example.com"})),
    keyring=Keyring({"AKIDEXAMPLE": AccessKey(b"test-secret-access-key", Caller(ROLE))}, SESSIONS),
    roles=ApprovedRoles(["arn:aws:iam::*:role/managed-app-*"]),
    proxy=TrustedProxy(
        caller_header=b"x-kvs-caller-arn",
        secret_header=b"x-kvs-proxy-secret",
        secrets=[b"0" * 32],
        networks=NOWHERE,
    ),
    clock=FakeClock(NOW_SECONDS * 1000),
)
SIGNERS = (
    Signer(),
    Signer(ISSUED.access_key_id, ISSUED.secret_access_key, ISSUED.session_token),
)
VALID = [
    {
        name.lower().encode(): value.encode()
        for name, value in signer.sign(
            "https://kvs.example.com/v1/put", b"{}", {}, at_seconds=NOW_SECONDS
        ).items()
    }
    for signer in SIGNERS
]
MEANINGFUL = [
    b"authorization",
    b"x-amz-date",
    b"date",
    b"host",
    b"x-amz-security-token",
    b"x-amz-content-sha256",
    b"x-kvs-caller-arn",
    b"x-kvs-proxy-secret",
]
HARMLESS = (b"date", b"x-kvs-caller-arn", b"x-kvs-proxy-secret")
"""Ignored beside X-Amz-Date, or from peers other than the trusted proxy."""
PIECES = [
    *(value for fields in VALID for value in fields.values()),
    *VALID[1][b"authorization"].split(b" "),
    *VALID[1][b"x-amz-security-token"].split(b"."),
    *b"AWS4-HMAC-SHA256 Credential= SignedHeaders= Signature= , ; / . = %".split(),
    b"0" * 64,
    b"\xff",
    "\u0662".encode(),
    b"A" * 5000,
]

noise = st.binary(max_size=80) | st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=8).map(
    b"".join
)


def spliced(value: bytes) -> st.SearchStrategy[bytes]:
    """Replaces a part of the value by noise."""
    places = st.integers(0, len(value))
    return st.builds(
        lambda one, other, middle: value[: min(one, other)] + middle + value[max(one, other) :],
        places,
        places,
        noise,
    )


def answer(fields: list[tuple[bytes, bytes]], target: bytes = b"/v1/put") -> int:
    """Returns the status of the policy's answer; any exception other than a refusal fails the test."""
    call = Call(Operation.PUT, target, Headers(fields), b"{}", "127.0.0.1")
    try:
        POLICY.verify(call)
    except Refusal as refusal:
        return refusal.status
    return 200


@pytest.mark.parametrize("valid", VALID, ids=["static", "session"])
def test_the_unmodified_requests_are_valid(valid):
    assert answer(list(valid.items())) == 200


@pytest.mark.parametrize("valid", VALID, ids=["static", "session"])
@pytest.mark.parametrize("name", MEANINGFUL, ids=bytes.decode)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_noise_as_a_header_is_refused(valid, name, data):
    value = data.draw(noise)
    may_be_served = name in HARMLESS or value.strip() == valid.get(name)
    assert answer([*(valid | {name: value}).items()]) in ({200, 403} if may_be_served else {403})


@pytest.mark.parametrize("name", [b"authorization", b"x-amz-date", b"x-amz-security-token"], ids=bytes.decode)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_header_with_noise_inside_is_refused_or_means_the_same(name, data):
    valid = VALID[1]
    value = data.draw(spliced(valid[name]))
    means_the_same = b"".join(value.split()) == b"".join(valid[name].split())
    assert answer([*(valid | {name: value}).items()]) in ({200, 403} if means_the_same else {403})


@settings(max_examples=200, deadline=None)
@given(names=noise)
def test_noise_as_the_list_of_signed_headers_is_refused(names):
    valid = VALID[0]
    authorization = valid[b"authorization"].replace(b"host;x-amz-date", names)
    expected = 200 if names.strip() == b"host;x-amz-date" else 403
    assert answer([*(valid | {b"authorization": authorization}).items()]) == expected


@settings(max_examples=200, deadline=None)
@given(fields=st.lists(st.tuples(st.sampled_from(MEANINGFUL) | st.binary(max_size=20), noise), max_size=10))
def test_any_headers_at_all_are_refused(fields):
    assert answer(fields) == 403


@settings(max_examples=100, deadline=None)
@given(query=noise)
def test_any_query_at_all_is_refused_or_empty(query):
    status = answer(list(VALID[0].items()), b"/v1/put?" + query)
    assert status == (403 if query.strip(b"&") else 200)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(MEANINGFUL), value=noise)
async def test_noise_on_the_wire_is_4xx(gateway, name, value):
    wire = signed(gateway).set(name.decode(), value.replace(b"\n", b"").replace(b"\r", b""))
    reply = await wire.send(gateway)
    assert reply.status == 200 or 400 <= reply.status < 500
    assert reply.headers["Content-Type"] == "application/json"
