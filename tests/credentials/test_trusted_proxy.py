"""A trusted proxy in front that has verified the signature, and impostors."""

import json

import pytest

from gateway.credentials.trusted_proxy import Networks, TrustedProxy
from gateway.domain.call import Headers
from tests.sigv4.wire import Wire, assert_refused, signed
from tests.support.config import ROLE, TABLE_TOKEN
from tests.support.gateway import run_gateway

SECRET = "the-secret-of-the-proxy"
SESSION_ARN = "arn:aws:sts::123456789012:assumed-role/managed-app-test/function-1"
CALLER = "X-KVS-Caller-Arn"
PROOF = "X-KVS-Proxy-Secret"
MISSING = ("missing_signature", "MissingAuthenticationTokenException")
NOT_APPROVED = ("caller_not_approved", "AccessDeniedException")
INCOMPLETE = ("incomplete_signature", "IncompleteSignatureException")


def behind_proxy(**proxy):
    roles = ["arn:aws:iam::123456789012:role/managed-app-*"]
    return run_gateway({"signature": {"approved_roles": roles, "credentials": {"trusted_proxy": proxy}}})


@pytest.fixture
async def gateway():
    """Runs a gateway that trusts every proxy with the secret."""
    async with behind_proxy(secret=SECRET) as running:
        yield running


async def vouch(gateway, arn: str = SESSION_ARN, secret: str | None = SECRET, **options):
    headers = {CALLER: arn} if secret is None else {CALLER: arn, PROOF: secret}
    return await gateway.put("k", 1, signer=None, headers=headers, **options)


@pytest.mark.parametrize("arn", [SESSION_ARN, ROLE])
async def test_a_caller_that_the_proxy_names_is_served_without_a_signature(gateway, arn):
    assert (await vouch(gateway, arn)).json == {"ok": True}


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sts::123456789012:assumed-role/stranger/function-1",
        "arn:aws:iam::123456789012:role/stranger",
        "arn:aws:iam::123456789012:user/managed-app-test",
        "arn:aws:iam::123456789012:root",
        "arn:aws:sts::123456789012:federated-user/managed-app-test",
        "managed-app-test",
        "*",
        f"{ROLE},{ROLE}",
        "é" + ROLE,
    ],
)
async def test_a_caller_of_another_role_is_not_authorized(gateway, arn):
    assert_refused(await vouch(gateway, arn), *NOT_APPROVED)


@pytest.mark.parametrize(
    "secret", [None, "", "wrong", SECRET[:-1], SECRET + "x", SECRET.upper(), "é", f"{SECRET},{SECRET}"]
)
async def test_a_peer_without_the_secret_is_not_trusted(gateway, secret):
    assert_refused(await vouch(gateway, secret=secret), *MISSING)


async def test_each_of_several_secrets_is_trusted_and_no_other():
    secrets = [SECRET, "another-secret-of-the-proxy"]
    async with behind_proxy(secret=secrets) as gateway:
        assert [(await vouch(gateway, secret=each)).status for each in secrets] == [200, 200]
        for wrong in ("".join(secrets), ",".join(secrets), secrets[1][:-1], ""):
            assert_refused(await vouch(gateway, secret=wrong), *MISSING)


async def test_the_secret_without_a_caller_is_no_signature(gateway):
    reply = await gateway.put("k", 1, signer=None, headers={PROOF: SECRET})
    assert_refused(reply, *MISSING)


async def test_the_secret_with_an_empty_caller_is_no_signature(gateway):
    assert_refused(await vouch(gateway, ""), *MISSING)


async def test_a_caller_named_by_the_proxy_still_needs_a_table_token(gateway):
    reply = await vouch(gateway, token=None)
    assert (reply.status, reply.json) == (401, {"error": "missing_token"})


async def test_callers_may_still_sign_their_own_requests(gateway):
    assert (await gateway.put("k", 1)).status == 200


@pytest.mark.parametrize("secret", [None, "wrong"])
async def test_proxy_headers_of_an_impostor_are_dropped_and_its_signature_decides(gateway, secret):
    wire = signed(gateway).add(CALLER, "arn:aws:iam::123456789012:role/stranger")
    if secret is not None:
        wire = wire.add(PROOF, secret)
    assert (await wire.send(gateway)).status == 200


@pytest.mark.parametrize("name", [CALLER, PROOF])
async def test_a_signed_header_reserved_for_the_proxy_is_reported_as_not_accepted(gateway, name):
    reply = await signed(gateway, headers={name: "anything"}).send(gateway)
    assert_refused(reply, *INCOMPLETE)
    assert reply.json["message"] == (
        f"'{name.lower()}' is listed in SignedHeaders but is not accepted from this address."
    )


async def test_a_missing_signed_header_of_the_proxy_is_reported_as_missing(gateway):
    wire = signed(gateway, headers={CALLER: "anything"}).drop(CALLER)
    assert "was not sent" in (await wire.send(gateway)).json["message"]


async def test_an_impostor_cannot_borrow_an_approved_role_for_a_bad_signature(gateway):
    wire = signed(gateway, signer=gateway.signer.but(secret_access_key="wrong")).add(CALLER, ROLE)
    assert_refused(await wire.send(gateway), "signature_mismatch", "InvalidSignatureException")


@pytest.mark.parametrize(
    "fields",
    [
        ((CALLER, ROLE), (CALLER, ROLE), (PROOF, SECRET)),
        ((CALLER, ROLE), (CALLER.lower(), "arn:aws:iam::1:role/stranger"), (PROOF, SECRET)),
        ((CALLER, ROLE), (PROOF, SECRET), (PROOF, SECRET)),
        ((CALLER, ROLE), (PROOF, "wrong"), (PROOF, SECRET)),
    ],
)
async def test_a_repeated_header_of_the_proxy_is_refused(gateway, fields):
    wire = Wire(((b"Host", b"kvs"), (b"X-KVS-Authorization", f"Bearer {TABLE_TOKEN}".encode())))
    for name, value in fields:
        wire = wire.add(name, value)
    assert_refused(await wire.send(gateway), *INCOMPLETE)


async def test_a_proxy_in_a_listed_network_is_trusted():
    async with behind_proxy(networks=["10.0.0.0/8", "127.0.0.0/8"]) as gateway:
        assert (await vouch(gateway, secret=None)).status == 200


async def test_a_proxy_outside_the_networks_is_not_trusted():
    async with behind_proxy(networks=["10.0.0.0/8", "::1/128"]) as gateway:
        assert_refused(await vouch(gateway, secret=None), *MISSING)


async def test_a_proxy_outside_the_networks_is_not_trusted_whatever_it_forwards():
    async with behind_proxy(networks=["10.0.0.0/8"]) as gateway:
        headers = {CALLER: ROLE, "X-Forwarded-For": "10.0.0.1", "Forwarded": "for=10.0.0.1"}
        assert_refused(await gateway.put("k", 1, signer=None, headers=headers), *MISSING)


@pytest.mark.parametrize(
    ("network", "secret", "is_believed"),
    [
        ("127.0.0.0/8", SECRET, True),
        ("127.0.0.0/8", "wrong", False),
        ("127.0.0.0/8", None, False),
        ("10.0.0.0/8", SECRET, False),
    ],
)
async def test_a_proxy_with_secret_and_network_needs_both(network, secret, is_believed):
    async with behind_proxy(secret=SECRET, networks=[network]) as gateway:
        assert ((await vouch(gateway, secret=secret)).status == 200) is is_believed


async def test_the_headers_have_the_names_of_the_configuration():
    async with behind_proxy(secret=SECRET, caller_header="X-Who", secret_header="X-Proof") as gateway:
        own = {"X-Who": ROLE, "X-Proof": SECRET}
        assert (await gateway.put("k", 1, signer=None, headers=own)).status == 200
        assert_refused(await vouch(gateway), *MISSING)


async def test_proxy_headers_have_no_effect_without_a_trusted_proxy():
    async with run_gateway() as gateway:
        assert_refused(await vouch(gateway), *MISSING)


@pytest.mark.parametrize(
    ("peer", "is_believed"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::1", True),
        ("11.0.0.1", False),
        ("::1", False),
        ("", False),
        ("unknown", False),
    ],
)
def test_a_peer_is_matched_by_its_address(peer, is_believed):
    networks = Networks(["10.0.0.0/8", "fd00::/8"])
    proxy = TrustedProxy(caller_header=b"a", secret_header=b"b", secrets=[], networks=networks)
    caller = proxy.vouched_caller(Headers([(b"a", ROLE.encode())]), peer)
    assert (caller is not None) is is_believed


async def test_the_secret_of_the_proxy_is_never_returned(gateway):
    for headers in ({PROOF: SECRET}, {PROOF: SECRET, CALLER: "stranger"}, {PROOF: SECRET, CALLER: ROLE}):
        reply = await gateway.call("put", b"{", signer=None, headers=headers)
        assert SECRET not in reply.body.decode() + json.dumps(dict(reply.headers))
